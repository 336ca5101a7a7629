"""`symbinv serve`: a server on this machine that answers specifications."""

from __future__ import annotations

import argparse
import errno
import signal
import threading
from collections.abc import Sequence

from hf_symbinv.answers import MEMBERS, AnswerServer, Portfolio, read_specification
from hf_symbinv.answers.server import HOST, LONGEST_BODY, MOST_WAITING, USAGE
from hf_symbinv.cli import DONE
from hf_symbinv.cli.arguments import add_timeout, at_least, command_parser
from hf_symbinv.errors import UserError

PORT = 8765
LARGEST_PORT = 65535

DESCRIPTION = f"""\
Answer specifications for other programs of this machine, such as editors, as
`symbinv solve` does. The processes of the solvers stay, so that an answer takes
milliseconds. The server listens on {HOST} alone, and prints its address when it
is ready.

{USAGE.replace("; ", ";" + chr(10))}
as a JSON object, or an object with `error`. /ltl has the syntax of a FILE.ltl,
/prop the same without temporal operators, /tlsf the basic form of TLSF, and
/cnf the DIMACS format. One question is answered at a time, within the limits of
--timeout and --memory. {MOST_WAITING} questions may wait; more are refused with status 503,
and bodies of over {LONGEST_BODY:,} bytes with 413.

exit codes: 0 the server was ended by a signal to terminate, 2 bad usage or a
port that is taken, 130 interrupted
"""

EXAMPLE = """\
$ symbinv serve &
http://127.0.0.1:8765
$ curl --data 'G(request -> F grant)' http://127.0.0.1:8765/ltl
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv serve`."""
    command = command_parser("serve", DESCRIPTION, EXAMPLE)
    command.add_argument(
        "--port", type=at_least(0), default=PORT, metavar="N", help="0 for any that is free (default: %(default)s)"
    )
    command.add_argument(
        "--without", action="append", default=[], choices=MEMBERS, metavar="MEMBER", help="as of `symbinv solve`"
    )
    add_timeout(command)
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    if options.port > LARGEST_PORT:
        command.error(f"--port {options.port}: over {LARGEST_PORT}; use a smaller one")
    members = [name for name in MEMBERS if name not in options.without]
    with Portfolio(members, timeout=options.timeout, memory=options.memory) as portfolio:
        try:
            server = AnswerServer(options.port, portfolio)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            raise UserError(f"--port {options.port}: {error.strerror}; choose another, or 0 for any") from None
        with server:
            portfolio.answer(read_specification("1"))  # the first process is there before the first question
            signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
            print(server.url, flush=True)
            server.serve_forever()
    return DONE
