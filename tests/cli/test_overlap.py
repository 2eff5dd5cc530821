"""``cladify fit -m llama`` and ``cladify info`` on overlapping clusters."""

from pathlib import Path

from cladify import ClusterDag


def test_fit_and_info(cladify, points, tmp_path: Path) -> None:
    done = cladify("fit", "x.npy", "-m", "llama", "-p", "max_parents=3", "--items", "names.txt")
    assert done.code == 0 and done.err == ""
    assert "llama (average, sqeuclidean) in" in done.out and "clusters: x.dag" in done.out
    dag = ClusterDag.load(tmp_path / "x.dag")
    assert dag.n_leaves == 6 and dag.info["max_parents"] == 3
    done = cladify("info", "x.dag", "--items", "names.txt", "--branches", 2)
    assert (
        done.code == 0
        and "clusters per leaf" in done.out
        and "6 leaves in" in done.out
        and "members, height" in done.out
    )
    data = cladify("info", "x.dag", "--json").json
    assert data["n_leaves"] == 6 and data["is_tree"] is False and data["info"]["method"] == "llama"
    data = cladify("fit", "x.npy", "-m", "llama", "--out", "y.dag", "--json").json
    assert data["tree"]["file"] == "y.dag" and data["info"]["linkage"] == "average"


def test_what_overlapping_clusters_cannot_do(cladify, points) -> None:
    for arguments, message in [
        (("fit", "x.npy", "-m", "llama", "-k", 2), "overlapping clusters, which --n-clusters and --height cannot cut"),
        (("fit", "x.npy", "-m", "llama", "--out", "x.nwk"), "a name that ends in .dag"),
        (("fit", "x.npy", "-m", "llama", "--refine", "mw"), "refine= cannot improve"),
    ]:
        done = cladify(*arguments)
        assert done.code in (1, 2) and message in done.err
    assert cladify("fit", "x.npy", "-m", "llama", "-q").code == 0
    done = cladify("cut", "x.dag", "-k", 2)
    assert done.code == 1 and "is not a tree" in done.err
