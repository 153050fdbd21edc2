# SPDX-License-Identifier: Apache-2.0
"""A strict reader of the text exposition format of Prometheus, version 0.0.4.

It takes what tacfs may write: every metric has HELP, then TYPE, then samples
with whole numbers, together and once; and refuses everything else."""
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
HELP = re.compile(rf"# HELP ({NAME}) ((?:[^\\\n]|\\\\|\\n)+)")
TYPE = re.compile(rf"# TYPE ({NAME}) (counter|gauge)")
SAMPLE = re.compile(rf'({NAME})\{{([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"\}}'
                    r" (0|[1-9][0-9]*)")
ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


class Metric:
    def __init__(self, name, about):
        self.name = name
        self.about = about
        self.type = None
        self.samples = {}  # {(label, value): number}

    @property
    def value(self):
        number, = self.samples.values()
        return number


def unescape(text):
    return re.sub(r"\\.", lambda match: ESCAPES[match[0]], text)


def parse(data):
    """{name: Metric}; ValueError names the line that is wrong."""
    if not data.endswith(b"\n"):
        raise ValueError("the last line has no end")
    metrics = {}
    last = None
    for line in data.decode("utf-8").split("\n")[:-1]:
        last = take(line, metrics, last)
    for metric in metrics.values():
        check(metric)
    return metrics


def take(line, metrics, last):
    if match := HELP.fullmatch(line):
        if match[1] in metrics:
            raise ValueError(f"a second time: {line}")
        metrics[match[1]] = Metric(match[1], match[2])
        return metrics[match[1]]
    match = TYPE.fullmatch(line) or SAMPLE.fullmatch(line)
    if not match or not last or match[1] != last.name:
        raise ValueError(f"out of place: {line}")
    if match.re is TYPE:
        if last.type or last.samples:
            raise ValueError(f"too late: {line}")
        last.type = match[2]
    else:
        key = match[2], unescape(match[3])
        if key in last.samples:
            raise ValueError(f"twice: {line}")
        last.samples[key] = int(match[4])
    return last


def check(metric):
    if not metric.type or not metric.samples:
        raise ValueError(f"incomplete: {metric.name}")
    if (metric.type == "counter") != metric.name.endswith("_total"):
        raise ValueError(f"{metric.name} is a {metric.type}")
