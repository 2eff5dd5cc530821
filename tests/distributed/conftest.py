import pytest

pytest.importorskip("distributed")


@pytest.fixture(scope="package")
def client():
    """Two workers in this process, without ports of their own."""
    from distributed import Client, LocalCluster

    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options) as cluster, Client(cluster, set_as_default=False) as client:
        yield client
