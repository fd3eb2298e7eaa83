"""A Python project tests its own client against `gridtide reference`; run: python3 -m unittest test_signal.py

Only the standard library is used. GRIDTIDE names the command, `gridtide` in the PATH when it is not set; npx would not pass SIGTERM on.
"""

import base64
import json
import os
import shlex
import subprocess
import unittest
import urllib.error
import urllib.request

COMMAND = shlex.split(os.environ.get("GRIDTIDE", "gridtide"))
USER, PASSWORD = "tester", "pass-word1"


class Reference:
    """The service in a process of its own: its first line is the address, SIGTERM ends it with exit code 0."""

    def __init__(self, *options):
        arguments = ["reference", "--now", "2026-06-10T12:00:30Z", "--account", f"{USER}:{PASSWORD}:pro", *options]
        self.process = subprocess.Popen(COMMAND + arguments, stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["listening"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.exit_code = self.process.wait()
        self.process.stdout.close()


class Client:
    """The code under test: your own client stands here."""

    def __init__(self, url):
        self.url = url
        self.token = None

    def _get(self, path, authorization):
        request = urllib.request.Request(self.url + path, headers={"Authorization": authorization})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def _log_in(self):
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        self.token = self._get("/login", f"Basic {pair}")["token"]

    def forecast(self, region):
        path = f"/v3/forecast?region={region}&signal_type=co2_moer"
        if self.token is None:
            self._log_in()
        try:
            return self._get(path, f"Bearer {self.token}")
        except urllib.error.HTTPError as error:
            with error:
                if error.code != 401:
                    raise
            self._log_in()
            return self._get(path, f"Bearer {self.token}")


class SignalTest(unittest.TestCase):
    def test_a_day_of_five_minute_points(self):
        with Reference("--seed", "1") as reference:
            answer = Client(reference.url).forecast("CAISO_NORTH")
        self.assertEqual(len(answer["data"]), 288)
        self.assertEqual(answer["data"][0]["point_time"], "2026-06-10T12:00:00+00:00")
        self.assertEqual(answer["meta"]["units"], "lbs_co2_per_mwh")
        self.assertEqual(reference.exit_code, 0)

    def test_the_same_seed_and_time_give_the_same_values(self):
        answers = []
        for _ in range(2):
            with Reference("--seed", "7") as reference:
                answers.append(Client(reference.url).forecast("PSCO")["data"])
        self.assertEqual(answers[0], answers[1])

    def test_a_token_that_is_refused_is_renewed(self):
        with Reference() as reference:
            client = Client(reference.url)
            client.token = "of yesterday"
            self.assertEqual(len(client.forecast("PSCO")["data"]), 288)
        self.assertNotEqual(client.token, "of yesterday")

    def test_maintenance_is_an_error_and_then_over(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.json")
        with Reference("--faults", script) as reference:
            client = Client(reference.url)
            with self.assertRaises(urllib.error.HTTPError) as raised:
                client.forecast("PSCO")
            self.assertEqual(raised.exception.code, 503)
            raised.exception.close()
            self.assertEqual(len(client.forecast("PSCO")["data"]), 288)


if __name__ == "__main__":
    unittest.main()
