"""A user's mistake ends in one line and status 2, before anything is played."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.conftest import Refusal, Sweep

HYDRA = {
    "hydra.mode=RUN": "hydra.mode=RUN: Hydra's own settings are not for a run",
    "+hydra.callbacks.x={_target_:os.system}": "Hydra's own settings are not for a run",
    "+game@hydra.callbacks.x=uno": "Hydra's own settings are not for a run",
    "hydra.sweep.dir=elsewhere": "output_dir=DIR says where it writes",
    "hydra.searchpath=[pkg://other]": "--config-dir DIR where more configs lie",
    "sweep.prompt=cloze": "sweep is for experiments; here list values, as in seed=1,2",
    "game=glob(no*)": "a sweep has 1 to 10,000 jobs",
    "seed=interval(0,1)": "what is swept is listed, as in 1,2,3 or range(3)",
    "game=[uno]": "game is null; a run needs one: game=NAME",
    "-sc query=bash": "-sc is not an option",
    "~launch": "launch is null; a run needs one: launch=NAME",
    "~deals": "deals is missing; a run needs it: deals=VALUE",
    "~experiment": "a run needs a name: ~experiment +name=NAME",
    "seats=null": "seats is null; a run needs one: seats=NAME",
    "game=": "game",
    "prompt=cloze,": "'prompt=cloze,' cannot be read; it should be KEY=VALUE",
    "deals": "'deals' cannot be read",
    "--multirn": "--multirn is not an option; did you mean '--multirun'?",
    "--deals 40": "--deals is not an option; a setting has no dashes: deals=40\n",
    "--game.size=4": "a setting has no dashes: game.size=4\n",
    "--max-failures": "a setting has no dashes: max_failures=VALUE\n",
    "--config-dir nowhere": "not found",
    "--config-name other": "--config-name is not an option",
    "seed=range(0,100) samples=range(1,102)": "a sweep has 1 to 10,000 jobs",
    "seed=range(5,5)": "a sweep has 1 to 10,000 jobs",
    "output_dir=a{b": "'output_dir=a{b' cannot be read",
    "--cfg job prompt=cloze,pride": "only one cell can be shown; give one value",
}
KEYS = {
    "colour=red": "colour is not a key of the config (known: ablate, agent",
    "+deal=5": "deal is not a key of the config; did you mean 'deals'?",
    "+expect.foo=1": "expect.foo is not a key of the config (known: gain",
    "expect.alpha=0.01": "expect.alpha is not a key of the config",
    "+launch.foo=1": "launch.foo is not a key of the config (known: kind, workers)",
    "prompt=direct,cloze prompt.max_tokens=64": "prompt.max_tokens is not a key of prompt=cloze",
    "prompt.wordng=plain": "did you mean 'wording'?",
    "experiment=quickstart,robust": "experiment takes one value a run",
    "baseline=random,rule": "baseline takes one value a run, got random and rule",
    "deals=range(0,1000000000)": "deals takes one value a run",
    "measure=win,null": "measure takes one value a run, got null and win",
    "~expect.power": "expect.power is missing",
    "expect=null": "expect is null; it must have the keys win_rate, gain",
}
VALUES = {
    "output_dir=null": "output_dir is null; it must be text",
    "deals=0": "deals is 0; it must be a whole number from 1 to 1,000,000,000 or auto",
    "deals=1.5": "deals is 1.5; it must be a whole number",
    "deals=100000001": "deals=100,000,001: a sweep plays at most 100,000,000 deals",
    "seed=1,2 deals=60000000": "deals=60,000,000: a sweep plays at most 100,000,000 deals",
    "deals=auto": "deals=auto needs a baseline",
    "samples=0": "samples is 0; it must be a whole number from 1 to 10,000",
    "seed=1,-2": "seed is -2; it must be a whole number from 0 to 9,223",
    "concurrent_matches=0": "concurrent_matches is 0",
    "rotate=1": "rotate is 1; it must be true or false",
    "baseline=7": 'baseline is 7; it must be text or null, as in "7"',
    "pairing=round_robin players=[true,rule]": 'players.0 is true; it must be text, as in "true"',
    "seats.0.player=true": "player=true does not exist",
    "packages=mine": "packages is 'mine'; it must be a list of text, as in packages=[mine]",
    "controls=first,last": "controls=first,last: controls is a list: controls=[first,last]",
    "launch.workers=-1": "launch.workers is -1; it must be a whole number from 1 up or null",
    "launch=local launch.patience=0": "launch.patience is 0; it must be a number above 0 or null",
    "launch=ray launch.address=x launch.auth=no": "'no'; it must be token or disabled",
    "tracking.kind=wandb": "tracking.kind is 'wandb'; it must be none or mlflow",
    "tracking=mlflow tracking.traces=some": "tracking.traces is 'some'; it must be sample or all",
    "paper_bugs=some": "paper_bugs is 'some'; it must be true or false",
    "test=one_sided": "test is 'one_sided'; it must be two_sided or above or non_inferior\n",
    "margin=2": "margin is 2; it must be a number between 0 and 1",
    "stop=early": "stop is 'early'; it must be fixed or sprt or precision",
    "controls=[[1],0]": "it must be auto or a list of first or last or a whole number from 1 up",
    f"controls={[*range(1, 102)]}".replace(" ", ""): "a whole number from 1 up, at most 100",
}
KEYLESS = "prompt=cot model=openai model.name=m model.key_env=NOT_SET"
PARTS = {
    "model=pokcet": "did you mean 'pocket'?",
    "game=chess": "game=chess does not exist",
    "game=tic_tac_toe seats=coop": "tic-tac-toe seats 2 players, got 3",
    "+game.num_seats=3": "game.num_seats is not a setting: the pipeline gives it",
    "game=tic_tac_toe game.size=100000": "size is 100000; a grid has 2 to 32 cells a side",
    "game=tic_tac_toe paper_bugs=true": "[paper_bugs=true]: this game has no published bugs",
    "+game.rounds=3": "game.rounds is not a setting",
    "game.paper_bugs=7": "game.paper_bugs is 7; it must be true or false",
    "game._target_=os.system": "it must lie in gauntlet.agents, gauntlet.games, gauntlet.models",
    "agent=minimax": "agent:",
    "agent=search agent.playouts=1000000": "a search plays 1 to 100,000 an option",
    "agent=helper": "a helper needs a goal of help:SEAT that names another seat",
    "agent=saboteur seats.1.goal=help:1": "a saboteur needs a goal of help:SEAT",
    "agent=random baseline=helper": "baseline=helper: a helper needs a goal of help:SEAT",
    "agent=random baseline=expert": "baseline=expert is not a scripted player",
    "model=hf": "model.path must be given",
    "model=hf model.path=no/such/folder": "no/such/folder",
    KEYLESS: "model: the variable NOT_SET is not set",
    f"{KEYLESS} model.base_url=http://127.0.0.1:9/v1": "model: the variable NOT_SET is not set",
    "measure=points": "measure=points is none of this game's (known: match_score, win)",
    "agent=likeliest game=tic_tac_toe": "TicTacToe has nobody to watch",
    "agent=llm prompt=observe game=tic_tac_toe": "TicTacToe has nobody to watch",
    "agent=nearest game=watch_tic_tac_toe seats=observer": "TicTacToe has no mixes",
    "agent=random game=watch_rps seats=observer game.players=[H]": "2 seats of RockPaperScissors",
    "agent=random game=watch_rps seats=solo": "watching seats 1 player (seats=observer), got 2",
}
SEATS = {
    "seats.1.agent=random agent=rule": "no seat whose agent is `subject`",
    "seats.1.player=random agent=rule": "no seat whose agent is `subject`",
    "seats.0.agent=robot": "agent=robot does not exist",
    "seats.measured=2": "seats.measured is 2; it must be 0 to 1",
    "seats.1.goal=help:5": "helps seat 5, which does not exist",
    "seats.0.player=serch": "player=serch does not exist; did you mean 'search'?",
    "seats.0.playr=rule": "seats.0.playr is not a setting; did you mean 'player'?",
    "seats.0.player=rule seats.0.agent=rule": "seats.0 names a player and its agent",
    "seats.0.player=rule seats.0.model=fake": "seats.0 names a player and its agent",
    "seats.1.model=fake": "seats.1.model is the subject's: choose it by model=fake",
    "seats.0=random": "seats.0 must name an agent or a player",
    "pairing=league": "pairing is 'league'; it must be seats or round_robin",
    "pairing=round_robin players=random,first": "players is a list: players=[random,first]\n",
    "pairing=round_robin": "players is []; a pair needs two or more of them",
    "pairing=round_robin players=[rule,rule]": "players names rule twice",
    "pairing=round_robin players=[rule,rul]": "player=rul does not exist; did you mean",
    "pairing=round_robin players=[rule,random] seats.measured=all": "needs a seat beside",
    "pairing=round_robin players=[rule,random] agent=rule": "pairing=round_robin has no",
    "pairing=adaptive players=[rule,random] margin=0.5": "with pairing=adaptive it is below 0.5",
    "players=[rule,random]": "players is for pairing=round_robin",
}
PARTS_OF_PARTS = {
    "ablate=[1]": "it must be a mapping, as in ablate={prompt.moves:0}",
    "prompt=tutri ablate={prompt.histroy:false}": "did you mean 'history'?",
    "ablate={rotate:true} pairing=round_robin players=[random,rule]": "ablate is for pairing=seats",
    "+model.parameters=0": "model.parameters",
    "+model.parameters=many": "model.parameters",
    "prompt=vanilla agent.on_bad_reply=cry": "ask_again or fallback or forfeit",
    "prompt=vanilla agent.on_bad_reply=1": "on_bad_reply",
    "prompt=vanilla agent.on_bad_reply=forfeit seats=coop": "needs a game of two seats that is",
}
RULES = {
    "stop=sprt": "tests against a baseline",
    "game=tic_tac_toe agent=minimax baseline=random expect.win_rate=0.9 stop=sprt rotate=true": (
        "use stop=precision"
    ),
    "game=tic_tac_toe agent=minimax baseline=random stop=sprt expect.win_rate=0.2": (
        "needs expect.win_rate above"
    ),
}
SCORED = "game=tic_tac_toe ~game.size ~game.win_length packages=[tests] prompt=cloze game._target_="
MEASURES = {
    "Market stop=precision": "stop=precision needs a measure with a range, and chips",
    "Harvest stop=sprt": "stop=sprt tests wins, and tic_tac_toe",
    "Harvest deals=auto": "deals=auto plans for a win rate, and tic_tac_toe",
}
MISTAKES = {
    **HYDRA,
    **KEYS,
    **VALUES,
    **PARTS,
    **SEATS,
    **PARTS_OF_PARTS,
    **RULES,
    **{f"{SCORED}tests.pipeline.scored.{words}": line for words, line in MEASURES.items()},
}


@pytest.mark.parametrize(("words", "line"), MISTAKES.items(), ids=lambda x: ascii(x)[:40])
def test_one_line_and_status_2(
    sweep: Sweep, folder: Path, refusal: Refusal, words: str, line: str
) -> None:
    assert line in refusal(sweep(*words.split()))
    assert list(folder.parent.iterdir()) == [], "something was written"


def test_a_missing_key_comes_before_what_takes_time(
    sweep: Sweep, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the files of the other model are looked for and hashed."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    status = sweep("model=smollm2_135m,gpt_4_1", "prompt=cot")
    assert "the variable OPENAI_API_KEY is not set" in refusal(status)
