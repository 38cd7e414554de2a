"""Synthea's export as it is, and as other programs would write it, for the tests of `couplet table`."""
import csv
import gzip
import json
import pathlib


def rows(path: pathlib.Path) -> list[dict]:
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as file:
        return list(csv.DictReader(file))


def synthea(data: pathlib.Path) -> tuple[list[dict], list[dict]]:
    folder = data / "synthea_1k"
    return rows(folder / "conditions.csv.gz"), rows(folder / "medications.csv.gz")


def write_synthea(folder: pathlib.Path, conditions: list[dict], medications: list[dict]) -> None:
    """As Synthea writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, events in [("conditions", conditions), ("medications", medications)]:
        with open(folder / f"{name}.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, ["START", "STOP", "PATIENT", "ENCOUNTER", "CODE", "DESCRIPTION"],
                                    extrasaction="ignore")
            writer.writeheader()
            writer.writerows(events)


def write_fhir(folder: pathlib.Path, conditions: list[dict], medications: list[dict]) -> None:
    """A bulk export; the last line of each file is a resource that was entered in error."""
    folder.mkdir(parents=True, exist_ok=True)

    def concept(event):
        return {"coding": [{"system": "x", "code": event["CODE"], "display": event["DESCRIPTION"]}]}

    with open(folder / "Condition.ndjson", "w") as file:
        for event in conditions:
            file.write(json.dumps({"resourceType": "Condition", "subject": {"reference": "Patient/" + event["PATIENT"]},
                                   "code": concept(event), "onsetDateTime": event["START"] + "T08:00:00Z"}) + "\n")
        file.write(json.dumps({"resourceType": "Condition", "subject": {"reference": "Patient/nobody"},
                               "verificationStatus": {"coding": [{"code": "entered-in-error"}]},
                               "code": concept(conditions[0])}) + "\n")
    with open(folder / "MedicationRequest.ndjson", "w") as file:
        for event in medications:
            file.write(json.dumps({"resourceType": "MedicationRequest", "status": "completed", "authoredOn": event["START"],
                                   "subject": {"reference": "urn:uuid:" + event["PATIENT"]},
                                   "medicationCodeableConcept": concept(event)}) + "\n")
