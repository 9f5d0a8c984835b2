"""003 on services that run: labels that a minting service issues and that an archive gives."""

from __future__ import annotations

from ibi import Ibip, RepositoryName
from ibi.identifier import ibip, repository_name
from tests.conformance.grammar import accepts
from tests.conformance.report_archives import ReportFederation
from tests.conformance.standard import covers
from tests.support.servers.minting import MintingServer


@covers("003", "Algorithm 1")
@covers("003", "Algorithm 2")
@covers("003", "Algorithm 3")
@covers("003", "Algorithm 5")
@covers("003", "Algorithm 6")
@covers("003", "Algorithm 7")
def test_both_forms_of_a_minted_label_are_mounted_as_printed_and_lead_to_the_item(
    federation: ReportFederation,
) -> None:
    archive = federation.m16c
    item = archive.deposit({"a.txt": b"minted"})
    name, opaque = RepositoryName.parse(item["rep"]), Ibip.parse(item["ibip"])
    assert name.instant == opaque.instant
    port = int(archive.address.rpartition(":")[2])
    prefix = repository_name.mount_prefix("mtc-m16c.sid.inpe.br", port)
    assert item["rep"] == f"{prefix}/{repository_name.mount_suffix(name.instant)}"
    assert item["rep"] == str(RepositoryName.mount("mtc-m16c.sid.inpe.br", port, name.instant))
    mounted = f"{ibip.mount_prefix(opaque.ip, opaque.port)}/{ibip.mount_suffix(opaque.instant)}"
    assert item["ibip"] == mounted
    assert opaque.ip == "150.163.34.239"
    for label in (item["rep"], item["ibip"]):
        assert federation.brought(label) == b"minted"


@covers("003", "Example 1")
@covers("003", "Example 2")
@covers("003", "Table 6.1")
@covers("003", "Table 7.1")
@covers("003", "Algorithm 4")
def test_labels_of_a_minting_service_follow_the_grammars_and_never_repeat(
    minting_service: MintingServer,
) -> None:
    answer = minting_service.mint({"count": 50})
    assert answer.status == 201, answer.body
    labels = answer.json()["labels"]
    assert len(labels) == 50
    for each in labels:
        assert accepts("repository", each["rep"])
        assert accepts("IBIp", each["ibip"])
        assert each["rep"].startswith("sid.inpe.br/mtc-m18/")
        assert each["ibip"].startswith("8JMKD3MGP8W/")
    instants = [RepositoryName.parse(each["rep"]).instant for each in labels]
    assert instants == sorted(set(instants))
    assert [Ibip.parse(each["ibip"]).instant for each in labels] == instants
