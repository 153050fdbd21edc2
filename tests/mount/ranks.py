# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a job do at the same time, in loops, for agents.

Each function returns what went wrong beside what may go wrong on any file
system that others use at the same time: a name that is not there (any more),
and a directory that somebody fills while it is being removed.
"""
import errno
import os
import pickle
import shutil
import time
import traceback

import calls
import torchair_client as client


def explain(error):
    """The error, and the line of the client that met it."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.line for frame in frames if frame.filename == client.__file__]
    return f"{error!r} at `{lines[-1] if lines else frames[-1].line}`"


def save_often(path, seconds, size, stop):
    """Compiles and saves again and again, then makes the file `stop`.

    Returns how often.
    """
    deadline = time.monotonic() + seconds
    count = 0
    while time.monotonic() < deadline or count < calls.ENOUGH:
        client.save(path, client.compile_model(size))
        count += 1
    calls.write(stop, b"")
    return count


def load_often(path, stop):
    """Loads until `stop` exists. Returns (loads, what failed).

    In a plain directory loads fail here all the time.
    """
    loads, failures = 0, []
    while (not loads or not os.path.exists(stop)) and len(failures) < 5:
        try:
            client.load(path)
            loads += 1
        except Exception as error:
            failures.append(explain(error))
    return loads, failures


def live_with_cleaning(path, seconds, size):
    """Loads; on a miss compiles and saves, while others clear the cache.

    Returns ({outcome: count}, what failed).
    """
    deadline = time.monotonic() + seconds
    outcomes, failures = {}, []
    while time.monotonic() < deadline and len(failures) < 5:
        outcome = live_once(path, size, failures)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes, failures


def live_once(path, size, failures):
    try:
        client.load(path)
        return "hit"
    except (FileNotFoundError, NotADirectoryError):
        pass
    except ValueError as error:
        if "does not exist" not in str(error):
            failures.append(explain(error))
    except Exception as error:  # torn, of another size, unreadable, …
        failures.append(explain(error))
    try:
        client.save(path, client.compile_model(size))
        return "saved"
    except FileNotFoundError:
        return "cleared under the save"
    except FileExistsError:
        # makedirs: it was there for mkdir, and gone for the check after that.
        return "cleared under makedirs"
    except Exception as error:
        failures.append("save: " + explain(error))
        return "failed"


def clean_often(directory, seconds):
    """rmtree of the whole cache, as at every start of a job."""
    deadline = time.monotonic() + seconds
    count, failures = 0, []
    while time.monotonic() < deadline and len(failures) < 5:
        try:
            shutil.rmtree(directory)
            count += 1
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                failures.append(explain(error))
        time.sleep(0.01)
    return count, failures


def clean_at_start(directory):
    """Tolerates only FileNotFoundError, as vLLM-Ascend does."""
    try:
        shutil.rmtree(directory)
    except FileNotFoundError:
        pass


def load_bytes(path):
    return pickle.dumps(client.load(path))
