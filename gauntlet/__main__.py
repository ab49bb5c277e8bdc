"""The command `gauntlet`: one entry point for all commands.

`gauntlet run ...` is `python -m pipeline.run ...`, from any folder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import NoReturn

from gauntlet import __version__
from gauntlet.common.conf_folders import CONF, conf_folders
from gauntlet.common.errors import suggest
from gauntlet.common.process import as_process

COMMANDS = {
    "run": ("pipeline.run", "play a sweep, or resume it"),
    "plan": ("pipeline.plan.__main__", "estimate a sweep's memory, replicas and tokens"),
    "status": ("pipeline.status", "show a sweep's progress"),
    "report": ("pipeline.report", "write a folder's tables and report"),
    "matches": ("pipeline.matches", "list a folder's matches, such as those lost"),
    "replay": ("pipeline.replay", "show one match, move by move"),
    "compare": ("pipeline.compare", "compare the cells of two sweeps on shared deals"),
    "place": ("pipeline.place", "place a player on a game's ladder of search players"),
    "ratings": ("pipeline.ratings", "rate the players of any sweeps, across games"),
    "exploit": ("pipeline.exploit", "what best responses gain against a policy"),
    "metrics": ("pipeline.metrics", "judge each decision by playouts"),
    "verify": ("pipeline.verify", "check every line of a folder's log"),
    "track": ("pipeline.track", "make MLflow runs from a sweep's records"),
    "runs": ("pipeline.runs", "remove, move, import or annotate runs"),
    "export": ("pipeline.export", "export matches and decisions as Parquet"),
    "publish": ("pipeline.publish.__main__", "write runs as a static site"),
    "pages": ("pipeline.pages.__main__", "browse runs, matches and games"),
    "ui": ("pipeline.ui", "open the MLflow UI on this folder's runs"),
    "join": ("papers.league.join", "play a model on the public league's deals"),
    "reproduce": ("papers.reproduce", "compare a paper's numbers with ours"),
}
COMPLETION = "completion"

BASH = """\
_gauntlet() {
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "@COMMANDS@" -- "${COMP_WORDS[1]}"))
    elif [ "${COMP_WORDS[1]}" = run ]; then
        COMPREPLY=($(compgen -W "$(gauntlet completion settings)" -- "${COMP_WORDS[COMP_CWORD]}"))
    else
        COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
complete -o nospace -o default -F _gauntlet gauntlet
"""
ZSH = f"autoload -U +X bashcompinit && bashcompinit\n{BASH}"
SHELLS = {"bash": BASH, "zsh": ZSH}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command named by the first word with the remaining ones. Returns its exit status; 2
    for an unknown command."""
    name, *words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("-h", "--help"):
        print(usage())
        return 0
    if name == "--version":
        print(f"gauntlet {__version__}")
        return 0
    if name == COMPLETION:
        return completion(words)
    if name not in COMMANDS:
        print(f"gauntlet: there is no command {name!r}{suggest(name, COMMANDS)}", file=sys.stderr)
        return 2
    sys.argv = [f"gauntlet {name}", *words]
    status = import_module(f"gauntlet.{COMMANDS[name][0]}").main()
    return int(status)


def usage() -> str:
    listing = "\n".join(f"  {name:<11}{what}" for name, (_, what) in COMMANDS.items())
    return (
        "usage: gauntlet COMMAND ...\n\n"
        "Experiments with language models that play games.\n\n"
        f"{listing}\n  {COMPLETION:<11}a script that completes commands and settings in a shell:\n"
        f'{"":13}eval "$(gauntlet completion bash)", or zsh\n\n'
        "gauntlet COMMAND --help shows the details; --version the version."
    )


def completion(words: Sequence[str]) -> int:
    """Print a shell's completion script, or with `settings` the words it completes."""
    if list(words) == ["settings"]:
        print("\n".join(settings()))
        return 0
    if len(words) != 1 or words[0] not in SHELLS:
        print(f"gauntlet: completion of which shell: {' or '.join(SHELLS)}?", file=sys.stderr)
        return 2
    print(SHELLS[words[0]].replace("@COMMANDS@", " ".join([*COMMANDS, COMPLETION])), end="")
    return 0


def settings() -> Iterator[str]:
    """Every choice of every group, such as game=uno, and every key of a run, such as deals=."""
    files = (file for folder in conf_folders() for file in folder.glob("*/*.yaml"))
    yield from sorted(f"{file.parent.name}={file.stem}" for file in files)
    for line in (CONF / "config.yaml").read_text(encoding="utf-8").splitlines():
        key, colon, _ = line.partition(":")
        if colon and key.isidentifier() and key != "defaults":
            yield f"{key}="


def command() -> NoReturn:
    """The console script `gauntlet`."""
    as_process(main)


if __name__ == "__main__":
    command()
