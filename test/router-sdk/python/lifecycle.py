"""Drives the job router's API of a built weir with Microsoft's published Python
client, sync and async, over http and https. WEIR names the program,
WEIR_TLS_CERT and WEIR_TLS_KEY a certificate for 127.0.0.1. It exits 1 if a step
fails."""
import asyncio
import base64
import datetime
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from azure.communication.jobrouter import JobRouterAdministrationClient, JobRouterClient, models, __version__
from azure.communication.jobrouter import aio
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError


class Weir:
    """A weir on a database of its own."""

    def __init__(self, scheme):
        self.folder = tempfile.TemporaryDirectory()
        folder = Path(self.folder.name)
        self.key = base64.b64encode(secrets.token_bytes(32)).decode()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.host = f"127.0.0.1:{s.getsockname()[1]}"
        env = {"PATH": os.environ["PATH"], "DATABASE_URL": f"sqlite://{folder}/weir.db", "LISTEN_ADDR": self.host,
               "JOB_ROUTER_ACCESS_KEYS": self.key, "LOG_FORMAT": "text"}
        self.options = {}
        if scheme == "https":
            env |= {name: os.environ[name] for name in ("WEIR_TLS_CERT", "WEIR_TLS_KEY")}
            self.options["connection_verify"] = env["WEIR_TLS_CERT"]
        self.endpoint = f"{scheme}://{self.host}"
        self.log = open(folder / "log", "w+")
        self.process = subprocess.Popen([os.environ["WEIR"], "serve"], cwd=folder, env=env, stdout=self.log, stderr=self.log)

    def ready(self):
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with socket.create_connection(self.host.split(":"), 1):
                    return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("weir did not start")

    def close(self, failed):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        if failed:
            self.log.seek(0)
            print(self.log.read()[-4000:])
        self.log.close()
        self.folder.cleanup()


class Waiting:
    """An async client whose calls are made like those of the sync one."""

    def __init__(self, client, loop):
        self.client, self.loop = client, loop

    def __getattr__(self, name):
        def call(*args, **kwargs):
            result = getattr(self.client, name)(*args, **kwargs)
            if hasattr(result, "__aiter__"):
                async def collect():
                    return [x async for x in result]
                return iter(self.loop.run_until_complete(collect()))
            return self.loop.run_until_complete(result)
        return call


def refused(status, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except HttpResponseError as error:
        assert error.status_code == status, f"{error.status_code}, not {status}: {error}"
        return str(error)
    raise AssertionError(f"it was taken; want {status}")


def soon(check, what):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        got = check()
        if got:
            return got
        time.sleep(0.05)
    raise AssertionError(f"it never came to pass: {what}")


def policies(admin):
    admin.upsert_distribution_policy("d", models.DistributionPolicy(
        name="longest idle", offer_expires_after_seconds=60, mode=models.LongestIdleMode()))
    admin.upsert_queue("q", models.RouterQueue(name="Queue", distribution_policy_id="d", labels={"Region": "north"}))
    admin.upsert_exception_policy("e", models.ExceptionPolicy(exception_rules=[models.ExceptionRule(
        id="long", trigger=models.WaitTimeExceptionTrigger(threshold_seconds=3600),
        actions=[models.CancelExceptionAction(note="too long")])]))
    admin.upsert_queue("q", exception_policy_id="e")
    admin.upsert_classification_policy("c", models.ClassificationPolicy(
        fallback_queue_id="q", prioritization_rule=models.StaticRouterRule(value=7),
        queue_selector_attachments=[models.StaticQueueSelectorAttachment(queue_selector=models.RouterQueueSelector(
            key="Region", label_operator=models.LabelOperator.EQUAL, value="north"))],
        worker_selector_attachments=[models.PassThroughWorkerSelectorAttachment(
            key="language", label_operator=models.LabelOperator.EQUAL)]))
    assert admin.get_classification_policy("c").prioritization_rule.value == 7
    assert admin.get_queue("q").exception_policy_id == "e"


def paging(admin, client):
    for i in range(7):
        admin.upsert_queue(f"page{i}", models.RouterQueue(distribution_policy_id="d"))
        client.upsert_job(f"page{i}", models.RouterJob(channel_id="none", queue_id=f"page{i}"))
    assert len(list(admin.list_queues(results_per_page=2))) == 8
    assert len({j.id for j in client.list_jobs(results_per_page=2, channel_id="none")}) == 7
    for i in range(7):
        client.cancel_job(f"page{i}")
        client.delete_job(f"page{i}")
        admin.delete_queue(f"page{i}")


def offer_of(client, worker, job):
    return soon(lambda: next((o for o in client.get_worker(worker).offers or [] if o.job_id == job), None), f"an offer of {job}")


def lifecycle(client):
    client.upsert_worker("w", models.RouterWorker(
        capacity=1, queues=["q"], labels={"language": "es"}, available_for_offers=True,
        channels=[models.RouterChannel(channel_id="chat", capacity_cost_per_job=1)]))
    client.upsert_job("j", models.RouterJob(channel_id="chat", classification_policy_id="c", labels={"language": "es"},
                                            notes=[models.RouterJobNote(message="hello")]))
    offer = offer_of(client, "w", "j")
    job = client.get_job("j")
    assert (job.priority, job.queue_id, job.status) == (7, "q", "queued"), job
    client.reclassify_job("j")
    offer = offer_of(client, "w", "j")
    assert client.get_queue_position("j").position == 1
    assert client.get_queue_statistics("q").length == 1
    client.decline_job_offer("w", offer.offer_id, models.DeclineJobOfferOptions(
        retry_offer_at=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=0.3)))
    offer = soon(lambda: next((o for o in client.get_worker("w").offers if o.offer_id != offer.offer_id), None), "the offer comes again")
    accepted = client.accept_job_offer("w", offer.offer_id)
    assert client.unassign_job("j", accepted.assignment_id).unassignment_count == 1
    accepted = client.accept_job_offer("w", offer_of(client, "w", "j").offer_id)
    for _ in range(2):  # as if the first answer had been lost
        client.complete_job("j", accepted.assignment_id, models.CompleteJobOptions(note="done"))
    for _ in range(2):
        client.close_job("j", accepted.assignment_id, models.CloseJobOptions(disposition_code="resolved"))
    job = client.get_job("j")
    assert (job.status, job.disposition_code) == ("closed", "resolved"), job
    client.delete_job("j")
    try:
        client.get_job("j")
        raise AssertionError("a deleted job is there")
    except ResourceNotFoundError:
        pass


def suspending(client):
    # The client sends {} for SuspendMode() and for QueueAndMatchMode().
    message = refused(400, client.upsert_job, "s", models.RouterJob(channel_id="chat", queue_id="q", matching_mode=models.SuspendMode()))
    assert "suspend" in message, message
    client.upsert_job("s", {"channelId": "chat", "queueId": "q", "matchingMode": {"kind": "suspend"}})
    assert client.get_job("s").matching_mode.kind == "suspend"
    assert not client.get_worker("w").offers
    client.upsert_job("s", {"matchingMode": {"kind": "queueAndMatch"}})
    offer_of(client, "w", "s")
    client.cancel_job("s", models.CancelJobOptions(note="enough", disposition_code="gone"))
    assert client.get_job("s").status == "cancelled"
    client.upsert_job("t", models.RouterJob(channel_id="chat", queue_id="q", matching_mode=models.ScheduleAndSuspendMode(
        schedule_at=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=0.5))))
    soon(lambda: client.get_job("t").status == "waitingForActivation", "the schedule is reached")
    job = client.get_job("t")
    client.upsert_job("t", job)  # whole resources are sent back
    assert client.get_job("t").status == "waitingForActivation"
    client.cancel_job("t")
    for job in ("s", "t"):
        client.delete_job(job)


def refusals(admin, client):
    refused(400, client.upsert_worker, "x", models.RouterWorker(queues=["nowhere"]))
    refused(400, admin.upsert_distribution_policy, "x", models.DistributionPolicy(mode=models.BestWorkerMode(
        scoring_rule=models.FunctionRouterRule(function_uri="notauri"))))
    refused(400, admin.delete_distribution_policy, "d")


def tidy(admin, client):
    client.upsert_worker("w", available_for_offers=False)
    assert [w.id for w in client.list_workers(state=models.RouterWorkerStateSelector.INACTIVE)] == ["w"]
    client.delete_worker("w")
    admin.delete_classification_policy("c")
    admin.delete_queue("q")
    admin.delete_exception_policy("e")
    admin.delete_distribution_policy("d")
    assert list(admin.list_queues()) == []


def walk(admin, client):
    policies(admin)
    paging(admin, client)
    lifecycle(client)
    suspending(client)
    refusals(admin, client)
    tidy(admin, client)


def clients(weir, module, scheme):
    if scheme == "https":
        string = f"endpoint={weir.endpoint}/;accesskey={weir.key}"
        return [c.from_connection_string(string, **weir.options) for c in module]
    return [c(weir.endpoint, AzureKeyCredential(weir.key), **weir.options) for c in module]


def drive(scheme):
    weir, failed = Weir(scheme), True
    try:
        weir.ready()
        walk(*clients(weir, (JobRouterAdministrationClient, JobRouterClient), scheme))
        print(f"ok   {scheme}, sync")
        loop = asyncio.new_event_loop()
        both = clients(weir, (aio.JobRouterAdministrationClient, aio.JobRouterClient), scheme)
        walk(*(Waiting(c, loop) for c in both))
        for c in both:
            loop.run_until_complete(c.close())
        loop.close()
        print(f"ok   {scheme}, async")
        failed = False
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        print(f"FAIL {scheme}")
    finally:
        weir.close(failed)
    return failed


def main():
    print(f"azure-communication-jobrouter {__version__}")
    failures = [scheme for scheme in ("http", "https") if drive(scheme)]
    print("FAIL" if failures else "PASS: the lifecycle of jobs with Microsoft's Python client, sync and async, over http and https")
    sys.exit(1 if failures else 0)


main()
