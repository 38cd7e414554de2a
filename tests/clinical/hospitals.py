"""Three hospitals with the tables they have, made from Synthea's export: different formats, columns, orders and code lists."""
import csv
import gzip
import json
import pathlib

SITES = ["north", "south", "west"]


def rows(path: pathlib.Path) -> list[dict]:
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as file:
        return list(csv.DictReader(file))


def synthea(data: pathlib.Path) -> tuple[list[dict], list[dict]]:
    folder = data / "synthea_1k"
    return rows(folder / "conditions.csv.gz"), rows(folder / "medications.csv.gz")


def site_of(patient: str) -> str:
    return SITES[sum(patient.encode()) % 3]


def write_synthea(folder: pathlib.Path, conditions: list[dict], medications: list[dict]) -> None:
    """As Synthea writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, events in [("conditions", conditions), ("medications", medications)]:
        with open(folder / f"{name}.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, ["START", "STOP", "PATIENT", "ENCOUNTER", "CODE", "DESCRIPTION"],
                                    extrasaction="ignore")
            writer.writeheader()
            writer.writerows(events)


def write_german(folder: pathlib.Path, conditions: list[dict], medications: list[dict]) -> None:
    """Semicolons, Latin-1, other names and another order of the columns."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, events in [("diagnosen", conditions), ("verordnungen", medications)]:
        with open(folder / f"{name}.csv", "w", newline="", encoding="latin-1") as file:
            writer = csv.writer(file, delimiter=";")
            writer.writerow(["TEXT", "CODE", "Beginn", "PATIENT", "Ärztin"])
            for event in events:
                writer.writerow([event["DESCRIPTION"], event["CODE"], event["START"], event["PATIENT"], "Müller"])


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


def write_hospitals(folder: pathlib.Path, data: pathlib.Path) -> None:
    """Every site has a third of the patients; two have a code that the others do not."""
    conditions, medications = synthea(data)
    writers = {"north": write_synthea, "south": write_german, "west": write_fhir}
    for site, write in writers.items():
        mine = [dict(event) for event in conditions if site_of(event["PATIENT"]) == site]
        if site != "west":
            mine += [dict(event, CODE=site + "-1", DESCRIPTION="Local code of " + site) for event in mine[:30]]
        write(folder / site, mine, [event for event in medications if site_of(event["PATIENT"]) == site])
