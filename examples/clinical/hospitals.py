#!/usr/bin/env python3
"""Writes the tables of three hospitals, for docs/clinical.md: different formats, columns, orders and code lists.

The patients are made up, or those of Synthea's export where a folder with the public data sets is given.
"""
import argparse
import csv
import gzip
import json
import pathlib
import random

SITES = ["north", "south", "west"]
# What made-up patients have together: conditions, and what is given for them.
PROFILES = [
    (["Type 2 diabetes", "Hypertension", "Hyperlipidaemia", "Obesity"], ["Metformin", "Lisinopril", "Simvastatin", "Insulin glargine"]),
    (["Asthma", "Hay fever", "Atopic dermatitis", "Sinusitis"], ["Salbutamol", "Budesonide", "Cetirizine", "Hydrocortisone cream"]),
    (["Coronary heart disease", "Atrial fibrillation", "Heart failure"], ["Aspirin", "Warfarin", "Bisoprolol", "Furosemide"]),
    (["Osteoarthritis", "Osteoporosis", "Low back pain"], ["Ibuprofen", "Alendronate", "Vitamin D", "Paracetamol"]),
    (["Depression", "Anxiety disorder", "Insomnia"], ["Sertraline", "Escitalopram", "Zopiclone"]),
]


def rows(path: pathlib.Path) -> list[dict]:
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as file:
        return list(csv.DictReader(file))


def synthea(data: pathlib.Path) -> tuple[list[dict], list[dict]]:
    folder = data / "synthea_1k"
    return rows(folder / "conditions.csv.gz"), rows(folder / "medications.csv.gz")


def made_up(patients: int = 900) -> tuple[list[dict], list[dict]]:
    """Conditions and medications of patients who have one or two of the profiles, and now and then something else."""
    draw = random.Random(1)
    tables: tuple[list[dict], list[dict]] = ([], [])
    for number in range(patients):
        mine = draw.sample(PROFILES, draw.choice([1, 1, 2]))
        for table, kind in enumerate(["C", "M"]):
            for at, profile in enumerate(PROFILES):
                chance = 0.6 if profile in mine else 0.03
                for code, name in enumerate(profile[table]):
                    if draw.random() < chance:
                        tables[table].append({"PATIENT": f"p{number:04}", "CODE": f"{kind}{at}{code}", "DESCRIPTION": name, "STOP": "",
                                              "START": f"{draw.randint(2010, 2020)}-{draw.randint(1, 12):02}-01", "ENCOUNTER": ""})
    return tables


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


def write_hospitals(folder: pathlib.Path, data: pathlib.Path | None = None) -> None:
    """Every site has a third of the patients; two have a code that the others do not."""
    conditions, medications = synthea(data) if data else made_up()
    writers = {"north": write_synthea, "south": write_german, "west": write_fhir}
    for site, write in writers.items():
        mine = [dict(event) for event in conditions if site_of(event["PATIENT"]) == site]
        if site != "west":
            mine += [dict(event, CODE=site + "-1", DESCRIPTION="Local code of " + site) for event in mine[:30]]
        write(folder / site, mine, [event for event in medications if site_of(event["PATIENT"]) == site])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where north, south and west are written")
    parser.add_argument("--data", type=pathlib.Path, help="a folder with the public data sets (docs/reproduce.md)")
    options = parser.parse_args()
    there = [site for site in SITES if (options.folder / site).exists()]
    if there:
        parser.error(f"{options.folder / there[0]} exists; name another folder")
    if options.data and not (options.data / "synthea_1k").is_dir():
        parser.error(f"{options.data}: no synthea_1k in it; leave --data out for made-up patients")
    write_hospitals(options.folder, options.data)


if __name__ == "__main__":
    main()
