"""The nouns of the board, their associations for scripted players, and which words are valid clues.

Each association lists the nouns that it fits. No noun is a compound or a form of another, so a clue
that shares a part with one is easy to detect.
"""

from __future__ import annotations

from functools import lru_cache

from gauntlet.games.base import TextSpec

_TABLE = {
    "acrobat": "circus rope clown ladder monkey",
    "ancient": "pyramid temple statue coin mummy spear museum",
    "animal": "cat dog horse cow pig sheep goat rabbit mouse lion tiger bear wolf fox deer "
    "elephant giraffe zebra camel monkey snake frog turtle crocodile shark whale "
    "dolphin kangaroo donkey otter seal beaver squirrel hamster lizard crab octopus "
    "lobster bat",
    "arctic": "penguin seal whale igloo ice snow glacier sled bear sea",
    "armor": "knight turtle helmet shield beetle crab soldier lobster",
    "art": "statue museum brush pencil violin marble film theater",
    "aviation": "plane helicopter airport pilot balloon radio astronaut",
    "award": "medal trophy crown flag cup film",
    "baker": "bread cake cookie pie oven butter egg sugar",
    "barbecue": "sausage corn coal fire smoke potato chicken",
    "barber": "razor scissors beard hair mirror brush chair",
    "bend": "knee neck arm wire spoon",
    "bird": "eagle owl parrot pigeon penguin duck goose swan peacock ostrich chicken",
    "bite": "shark dog crocodile vampire snake wolf apple tooth ant",
    "bitter": "coffee beer onion cabbage tea lemon",
    "black": "coal bat tire ninja piano witch ant oil",
    "blossom": "rose lily cherry bee vase garden plum orange cactus",
    "blow": "trumpet flute whistle wind balloon candle nose",
    "blue": "ocean sea whale lake ice peacock smoke",
    "body": "arm leg hand neck knee bone foot heart brain ear nose eye",
    "bounce": "ball kangaroo rubber tire",
    "breakfast": "egg bread butter jam coffee tea milk honey sausage",
    "bright": "sun star lamp candle moon flame gold",
    "brown": "chocolate coffee potato mud bread monkey beaver leather barrel cabin branch",
    "bug": "bee ant spider moth beetle worm snail",
    "building": "church castle tower school hospital hotel bank museum factory temple palace mill "
    "shop roof prison stadium theater library airport",
    "buried": "treasure bone seed root mummy worm potato cemetery",
    "burn": "fire candle coal sun wax flame oil smoke forest",
    "buy": "shop market coin wallet bag ticket basket bread",
    "camping": "tent fire forest cabin rope sausage compass",
    "captain": "ship boat pirate submarine anchor pilot harbor",
    "carry": "bag wagon basket box donkey arm bucket ant purse",
    "carve": "statue pumpkin chisel marble knife",
    "christmas": "angel star snow candle bell pine sled goose",
    "city": "bus taxi tower bridge museum pigeon stadium road factory shop hotel",
    "claws": "lion eagle crab lobster cat tiger owl",
    "clean": "soap broom sponge brush towel bucket napkin floor",
    "clever": "fox dolphin octopus brain chess wizard puzzle",
    "climb": "mountain rope ladder ivy stair cliff goat squirrel rock roof wall palm",
    "clothing": "hat coat shirt sweater dress trousers sock glove pocket apron belt tie boot "
    "scarf skate shoe veil crown mask helmet",
    "coast": "beach cliff harbor sea sand crab island shell oyster boat pirate storm",
    "cold": "ice snow fridge igloo penguin glacier beer sea",
    "container": "bottle box bag barrel jar basket bucket vase jug envelope",
    "cooking": "pot pan oven chef soup kettle salt garlic ladle apron spoon sugar onion mushroom",
    "crime": "thief prison judge gun mask diamond",
    "crowd": "stadium market circus bus airport museum",
    "cut": "saw axe scissors knife razor grass hair",
    "cutlery": "knife fork spoon ladle napkin",
    "dairy": "milk cheese butter cow goat",
    "dark": "cave tunnel bat vampire prison forest ghost",
    "deep": "ocean submarine whale anchor valley lake pearl sea forest",
    "delicate": "egg glass vase mirror web feather shell leaf",
    "dessert": "cake pie chocolate cookie cherry banana honey",
    "dig": "shovel worm rabbit treasure tunnel coal potato",
    "dirt": "mud worm dust shovel boot pig broom",
    "drink": "coffee tea wine beer milk bottle jug cup glass lemon coconut",
    "dry": "desert camel cactus sand dust towel lizard",
    "easter": "egg rabbit chocolate basket church lily",
    "egypt": "pyramid mummy camel cat desert snake crocodile",
    "electric": "lamp battery wire robot computer radio television fridge guitar drill motor "
    "magnet razor",
    "entrance": "door key tunnel ticket bell",
    "expensive": "diamond gold silver ruby pearl ring crown watch car plane ship rocket piano "
    "violin castle palace treasure silk robot submarine statue",
    "explore": "map compass island tent astronaut boot cave ship",
    "explosion": "bomb volcano rocket cannon gun",
    "fabric": "silk wool cotton curtain flag shirt towel blanket leather dress",
    "face": "eye nose mouth beard mask clown clock",
    "fairy": "witch dragon giant frog castle apple wolf mirror queen king wizard",
    "fast": "horse rocket car plane ostrich arrow train motor ambulance scooter comet",
    "fasten": "button zipper belt screw nail rope glue hook pocket key shoe chain tie",
    "fill": "box bowl jar pie",
    "flat": "plate table pizza card paper floor map stamp mirror ruler leaf",
    "float": "boat balloon raft cloud duck feather ghost swan",
    "flying": "plane kite bee bat eagle helicopter rocket arrow pigeon",
    "fold": "paper napkin map umbrella shirt envelope tent trousers pillow",
    "food": "apple banana cherry grape lemon orange peach carrot potato tomato onion garlic "
    "cabbage pumpkin pepper bean corn mushroom bread cheese butter egg honey sugar "
    "salt cake cookie pie chocolate soup sausage pizza noodle salmon jam mustard",
    "freeze": "ice fridge lake pond glacier penguin",
    "fruit": "apple banana cherry grape lemon orange peach pear plum melon coconut tomato",
    "fuel": "coal oil motor car truck tractor rocket",
    "furniture": "table chair sofa bed shelf lamp",
    "furry": "fox bear cat rabbit otter beaver seal squirrel hamster",
    "gallop": "horse zebra deer camel",
    "geography": "map island mountain river desert lake volcano valley",
    "grazing": "cow sheep goat deer horse zebra grass",
    "green": "grass frog leaf moss cactus bean cabbage lizard ivy pear valley pine fern lily",
    "grow": "seed garden beard baby bean corn root bamboo mushroom tooth fern branch carrot "
    "pear moss",
    "halloween": "pumpkin ghost witch vampire mask bat spider web",
    "hang": "curtain coat bat hook towel bell monkey lamp purse spoon",
    "hard": "rock stone diamond steel brick bone concrete helmet marble chess shell anvil "
    "wall tooth coconut",
    "harvest": "corn grape pumpkin apple tractor potato",
    "hatch": "egg chicken duck turtle crocodile ostrich",
    "health": "hospital doctor nurse apple ambulance heart carrot orange garlic mushroom brain",
    "heaven": "angel cloud star moon harp priest",
    "heavy": "elephant anvil anchor brick piano concrete truck rock steel stone hammer barrel pot",
    "hide": "mask veil cave treasure ninja curtain octopus",
    "hit": "hammer drum nail racket ball gong",
    "hold": "cup bottle spoon fork knife pen pencil brush hammer sword umbrella bag racket "
    "flag book telephone camera candle balloon rope key card coin",
    "hollow": "drum flute cave bamboo barrel chimney",
    "home": "roof wall floor door window chimney stair sofa garden key shelf",
    "horns": "goat cow deer giraffe snail dragon beetle",
    "horror": "vampire mummy shark clown cemetery spider ghost",
    "hospitality": "hotel bed towel key tea sofa pillow",
    "hot": "oven sun pepper desert volcano soup kettle coal flame",
    "household": "table chair sofa bed shelf lamp carpet curtain mirror clock window door pillow "
    "blanket towel soap sponge broom bucket vase basket candle oven fridge kettle "
    "plate bowl cup spoon fork knife television telephone",
    "huge": "elephant whale giant mountain planet palace ship",
    "hunt": "wolf lion eagle bow arrow spear deer gun",
    "imprison": "cage prison castle chain tower lock wire wall",
    "instrument": "piano guitar violin drum trumpet flute harp",
    "internet": "computer web telephone wire map robot",
    "italian": "pizza noodle wine tomato cheese tower palace",
    "jewelry": "ring pearl diamond ruby gold silver",
    "jump": "rabbit kangaroo frog horse dolphin",
    "jungle": "tiger monkey snake parrot bamboo fern banana moss leaf",
    "kick": "horse ball kangaroo donkey leg foot",
    "kitchen": "oven fridge sink pan plate bowl kettle knife pot cup table jar shelf broom apron "
    "chef",
    "knit": "wool sweater scarf sock glove needle",
    "knot": "rope scarf thread tie net",
    "learn": "school book library baby parrot piano puzzle chess",
    "limb": "arm leg branch hand octopus foot",
    "liquid": "milk oil rain honey soup wine",
    "livestock": "cow pig sheep goat chicken goose donkey",
    "lonely": "island moon igloo monk prison",
    "long": "snake rope river train noodle bridge worm neck belt arm ladder spear sword ski "
    "pencil scarf bamboo thread wire",
    "loud": "lion drum thunder cannon bomb whistle trumpet gong ambulance storm hammer drill",
    "love": "heart rose ring chocolate bride letter",
    "machine": "robot computer motor tractor drill mill factory fridge telephone battery",
    "magic": "wizard witch hat rabbit mirror dragon card",
    "mail": "letter stamp envelope box pigeon card",
    "measure": "ruler clock thermometer compass watch spoon jug bowl thread",
    "medieval": "knight castle sword shield king monk bow queen tower harp",
    "melt": "ice snow butter chocolate wax cheese glacier",
    "metal": "gold silver copper steel coin sword anvil nail chain fork magnet hammer wire key "
    "spoon zipper screw ladle pot battery knife bell cannon shield ring medal "
    "scissors saw axe",
    "mineral": "salt diamond coal copper ruby silver stone rock sand marble",
    "money": "bank coin wallet purse gold treasure market pocket stamp shop",
    "movie": "film ticket camera theater television shark robot vampire",
    "music": "piano guitar violin drum harp radio song bell",
    "nature": "sun moon star cloud rain snow ice wind storm river lake ocean sea island beach "
    "desert forest mountain cliff cave volcano valley pond stone rock sand grass leaf "
    "moss fern glacier thunder",
    "night": "owl bat moon star candle moth bed thief comet smoke",
    "office": "computer pen paper calendar telephone tie envelope chair stamp clock key shelf",
    "old": "castle pyramid temple mummy statue king wizard bone museum book letter oak "
    "violin sword coin turtle kettle",
    "orchestra": "violin drum trumpet flute gong harp",
    "outdoors": "garden forest beach tent kite bicycle ski sled boat road bridge tractor shovel "
    "grass oak pine bee bear deer mountain lake river pond snow rain sun",
    "pair": "shoe sock glove scissors trousers eye ear ski boot",
    "party": "balloon cake candle mask beer clown song hat pizza",
    "person": "king queen knight soldier doctor nurse judge thief pirate witch clown baby bride "
    "wizard giant angel astronaut chef pilot ninja monk priest vampire",
    "pet": "cat dog rabbit hamster parrot turtle mouse",
    "pink": "pig peach salmon tongue rose",
    "place": "church castle palace temple tower school hospital hotel bank museum library "
    "theater factory stadium prison market shop airport harbor garden beach island "
    "desert forest cemetery circus cabin igloo cave tent",
    "pointed": "arrow needle pencil star pyramid nail spear fork",
    "pour": "jug kettle rain milk concrete tea bucket cup sand",
    "pray": "temple hand knee monk church",
    "print": "stamp book calendar paper",
    "protect": "helmet shield umbrella lock glove dog wall soldier roof apron cage shoe",
    "quiet": "mouse library monk ninja cemetery snow",
    "race": "car horse bicycle ski skate camel medal",
    "read": "book library letter map calendar",
    "red": "cherry tomato rose heart brick ruby lobster fox wine",
    "religion": "church temple priest monk angel candle",
    "reptile": "snake lizard turtle crocodile dragon",
    "ride": "horse bicycle camel elephant scooter donkey sled wagon train motor",
    "roll": "wheel ball dice barrel carpet tire coin wagon noodle",
    "round": "ball wheel coin plate moon planet melon ring button pie puzzle orange clock "
    "coconut pan tire bowl drum sun apple egg cookie pizza balloon cherry grape peach "
    "plum pumpkin tomato onion",
    "royal": "king queen crown palace castle lion chess dress wagon",
    "safari": "lion elephant giraffe zebra crocodile monkey tent camera",
    "sail": "ship boat pirate wind anchor harbor raft sea ocean storm",
    "salad": "tomato cabbage onion carrot bean pepper bowl leaf mushroom pear",
    "salty": "ocean sea cheese sausage oyster pizza",
    "science": "microscope telescope magnet brain thermometer rocket doctor comet",
    "seafood": "crab lobster oyster salmon octopus salt shell",
    "sewing": "needle thread button scissors zipper silk pocket cotton",
    "shade": "umbrella palm hat curtain veil",
    "sharp": "knife needle saw axe razor sword tooth cactus chisel shell screw drill glass wire",
    "shiny": "gold silver diamond mirror coin medal pearl trophy shell copper tooth steel star",
    "sleep": "bed pillow blanket baby bear tent hotel hamster cabin",
    "slow": "snail turtle donkey tractor worm glacier",
    "small": "ant bee coin ring button needle key nail screw pearl seed bean stamp mouse "
    "spider worm snail dice pen egg cherry grape moth thread whistle",
    "smell": "nose rose garlic soap cheese smoke onion sock mouth",
    "soft": "pillow blanket wool cotton silk carpet sofa sponge feather rubber moss sweater "
    "leaf neck",
    "sound": "ear bell radio whistle thunder telephone harp song storm",
    "sour": "lemon grape orange plum cabbage",
    "space": "rocket moon star planet comet astronaut telescope",
    "speak": "mouth tongue telephone radio parrot judge",
    "spicy": "pepper garlic onion mustard sausage pizza",
    "spin": "wheel web helicopter planet wool mill motor dice",
    "sport": "ball racket ski skate net stadium trophy whistle helmet",
    "spread": "butter jam honey mustard glue",
    "squeeze": "lemon orange sponge grape snake",
    "stack": "box brick plate pillow chair coin",
    "stage": "theater curtain clown guitar drum mask circus dress song piano trumpet",
    "steep": "cliff mountain stair roof valley pyramid",
    "sticky": "glue honey jam web mud tongue wax stamp noodle",
    "stretch": "rubber belt sock net",
    "stripes": "zebra tiger bee flag tie prison sweater",
    "strong": "anvil elephant bear giant lion steel rope",
    "student": "school book pen pencil ruler bag library chess",
    "summer": "sun beach melon tent bee peach",
    "sweet": "sugar honey cake cookie jam chocolate plum banana pear pie orange pumpkin",
    "swim": "dolphin otter seal duck swan salmon frog penguin",
    "tail": "fox kite comet peacock lizard beaver squirrel mouse",
    "tall": "giraffe tower ladder giant palm cliff chimney hospital oak",
    "theft": "thief wallet purse lock bank diamond mask",
    "throw": "ball spear dice net stone bomb rock sand rubber",
    "timber": "saw axe oak pine cabin raft barrel ladder shelf",
    "time": "clock watch calendar sun sand",
    "tiny": "ant mouse seed button pearl dust moth screw stamp shell zipper microscope",
    "tool": "hammer saw drill screw shovel chisel axe",
    "toy": "kite puzzle robot ball balloon train dice drum scooter wagon battery",
    "traffic": "car bus truck taxi bicycle road bridge tunnel",
    "transparent": "window glass bottle ice jar ghost",
    "trap": "web cage net hook spider mouse",
    "travel": "plane train map ticket hotel bag airport pocket compass wallet boot wagon ocean "
    "scooter",
    "tree": "oak pine palm branch leaf root coconut squirrel forest plum pear",
    "tropical": "palm coconut island parrot beach banana storm",
    "uniform": "soldier nurse pilot chef judge doctor knight",
    "vegetable": "carrot potato tomato onion garlic cabbage pumpkin bean corn",
    "vehicle": "car bus truck taxi tractor ambulance wagon scooter",
    "venom": "snake spider bee octopus ivy",
    "vision": "eye telescope microscope camera window television",
    "walk": "shoe boot leg foot knee dog stair road kangaroo",
    "war": "soldier cannon bomb sword gun flag submarine",
    "wash": "soap towel sponge sink bucket hair apron dress hand",
    "water": "river lake pond swan boat bucket sink rain",
    "weapon": "sword spear gun cannon bow axe knife",
    "wear": "hat ring helmet watch crown veil apron belt zipper sweater trousers glove",
    "weather": "rain wind storm cloud thunder umbrella thermometer",
    "weave": "basket carpet spider silk wool thread",
    "wedding": "ring bride cake dress church rose veil priest",
    "wet": "rain frog sponge umbrella pond otter ocean moss",
    "white": "snow milk salt swan sheep egg ghost bone bride pillow cotton moth lily nurse",
    "wild": "wolf tiger storm bear",
    "wings": "eagle angel moth swan dragon plane ostrich",
    "winter": "ice sled scarf coat ski skate boot sweater igloo storm",
    "wise": "owl wizard book monk beard judge",
    "wooden": "barrel violin table ladder door shelf raft chess puzzle oak pine drill racket floor",
    "woods": "wolf fox deer owl mushroom moss fern oak cabin branch leaf pine",
    "write": "pen pencil letter paper feather computer",
    "yellow": "banana lemon sun corn butter taxi bee mustard",
}

_BROAD = {
    "alive": "animal bird bug person tree blossom pet",
    "celebration": "christmas easter halloween wedding party",
    "creature": "animal bird bug pet livestock reptile",
    "danger": "weapon venom bite explosion horror crime",
    "edible": "food fruit vegetable dessert breakfast salad",
    "energy": "electric fuel burn machine bright",
    "history": "medieval ancient royal egypt war old",
    "indoors": "household kitchen furniture office hospitality",
    "job": "uniform captain stage crime person",
    "plant": "tree blossom vegetable fruit woods",
    "play": "toy sport party instrument race",
    "solid": "hard metal mineral heavy",
    "story": "fairy halloween magic horror movie",
    "textile": "fabric clothing knit sewing soft",
    "transport": "vehicle aviation sail traffic ride",
    "trip": "travel camping explore coast summer",
    "valuable": "expensive jewelry money shiny award",
    "watery": "water wet liquid drink swim",
    "wilderness": "nature geography weather woods jungle",
    "work": "tool office machine harvest science",
}
"""Broad associations, as unions of narrow ones."""

_NARROW = {clue: tuple(nouns.split()) for clue, nouns in _TABLE.items()}

ASSOCIATIONS = _NARROW | {
    broad: tuple(dict.fromkeys(noun for clue in clues.split() for noun in _NARROW[clue]))
    for broad, clues in _BROAD.items()
}
"""Every association and the nouns that it fits."""

NOUNS = tuple(sorted({noun for nouns in ASSOCIATIONS.values() for noun in nouns}))
"""All words that may lie on a board, in alphabetical order."""

BY_NOUN = {
    noun: tuple(clue for clue, nouns in ASSOCIATIONS.items() if noun in nouns) for noun in NOUNS
}
"""Every noun and its associations."""


LONGEST = 24
"""Maximum length of a clue in characters."""

PARTS = {
    "airport": ("air", "port"),
    "bicycle": ("bike", "cycle"),
    "coconut": ("coco", "nut"),
    "microscope": ("micro", "scope"),
    "peacock": ("pea", "cock"),
    "submarine": ("sub", "marine"),
    "telephone": ("phone",),
    "telescope": ("scope",),
    "television": ("vision", "tv"),
    "thermometer": ("meter",),
}
"""Words that are part of a board word, or short for it."""

IRREGULAR = {"foot": "feet", "goose": "geese", "mouse": "mice", "tooth": "teeth"}

ASK = (
    "one word of letters alone that neither begins nor ends with a word on the board, and is no "
    "form or part of one"
)
ASK_ANY = "a clue without a comma"
ANY = r"[^\s,]+( [^\s,]+)*"
"""With paper bugs nothing else is checked: the published code takes what precedes a comma."""


def forms(noun: str) -> tuple[str, ...]:
    """Return the noun, and the stems of its other forms that do not begin with the noun itself."""
    words = [noun, IRREGULAR.get(noun, noun)]
    for end, others in (("y", ("ie",)), ("fe", ("ve",)), ("f", ("ve",)), ("e", ("ing", "y"))):
        if noun.endswith(end):
            words += [noun.removesuffix(end) + other for other in others]
    return tuple(dict.fromkeys(words))


@lru_cache(maxsize=512)
def clue_spec(board: tuple[str, ...], paper_bugs: bool) -> TextSpec:
    """Return the spec of a spymaster's clue for this board, whatever is open. Its examples are all
    associations of board words that are valid without paper bugs."""
    starts = "|".join(form for noun in board for form in forms(noun))
    parts = "|".join(part for noun in board for part in PARTS.get(noun, ())) or "-"
    ends = "|".join(board)
    barred = rf"(?!{starts})(?!(?:{parts})\Z)(?!\w*(?:{ends})\Z)"
    clues = dict.fromkeys(clue for noun in board for clue in BY_NOUN[noun])
    prefixes = tuple(starts.split("|"))
    fit = [
        clue
        for clue in clues
        if not clue.startswith(prefixes)
        and not clue.endswith(board)
        and clue not in parts.split("|")
    ]
    if paper_bugs:
        return TextSpec(ASK_ANY, tuple(fit), ANY, LONGEST)
    return TextSpec(ASK, tuple(fit), rf"(?i){barred}[^\W\d_]{{2,}}", LONGEST, board)


@lru_cache(maxsize=512)
def associated(board: tuple[str, ...]) -> dict[str, int]:
    """Return the places of every association of words on the board, as a bit mask."""
    clue_places: dict[str, int] = {}
    for place, noun in enumerate(board):
        for clue in BY_NOUN[noun]:
            clue_places[clue] = clue_places.get(clue, 0) | 1 << place
    return clue_places
