"""The two shops: what stands on their shelves, who comes in, and where things happen."""

from __future__ import annotations

from dataclasses import dataclass

from contrast_kit.data.toyshop.words import AXES, PART_AXES, Bag


@dataclass(frozen=True)
class Department:
    """One corner of a shop. `kind` is the noun that covers all its goods: a drum is a musical toy."""

    name: str
    kind: str
    goods: Bag
    parts: Bag
    materials: Bag
    axes: tuple[str, ...]


@dataclass(frozen=True)
class Shop:
    """Everything a record of one shop may name. People map to the pronoun they take."""

    name: str
    departments: dict[str, Department]
    people: dict[str, str]
    recipients: Bag
    reasons: Bag
    places: Bag
    shelves: Bag

    def __post_init__(self) -> None:
        # looked up for every sentence, hence computed once
        where = {
            good: corner.name for corner in self.departments.values() for good in (corner.kind, *corner.goods)
        }
        object.__setattr__(self, "department_of", where)
        manner = (
            r for r in self.reasons if not r.startswith(("for ", "as ", "against ", "before the first"))
        )
        object.__setattr__(self, "manners", Bag(manner))
        object.__setattr__(self, "names", Bag(self.people))
        object.__setattr__(self, "corners", Bag(self.departments))
        object.__setattr__(self, "kinds", {corner.kind: corner.name for corner in self.departments.values()})


def _shop(name: str, departments: dict, women: str, men: str, recipients: str, reasons: str, places: str,
          shelves: str) -> Shop:  # fmt: skip
    corners = {}
    for corner, (kind, goods, parts, materials, axes) in departments.items():
        known = tuple(axis for axis in axes.split() if axis in AXES)
        corners[corner] = Department(
            corner, kind, Bag.of(goods), Bag.of(parts), Bag.of(materials), (*PART_AXES, "price", *known)
        )
    she, he = Bag.of(women), Bag.of(men)
    people: dict[str, str] = {}
    for woman, man in zip(she, he, strict=False):  # by turns, so that neither pronoun is the rarer one
        people |= {_person(woman): "she", _person(man): "he"}
    return Shop(name, corners, people, Bag.of(recipients), Bag.of(reasons), Bag.of(places), Bag.of(shelves))


def _person(word: str) -> str:
    return word if word[0].isupper() else f"the {word}"


TOYSHOP = _shop(
    "toyshop",
    {
        "vehicles": ("toy vehicle", "train, fire engine, bus, race car, tractor, rocket, lorry, sailing boat, submarine, tram, "
                     "ambulance, biplane, motorbike, airship, bulldozer, helicopter, caravan, locomotive, ferry, hovercraft",
                     "paintwork, wheels, engine, windows, doors, cabin, bumper, headlamps, siren, chassis",
                     "tin, wooden, plastic, steel, pine, rubber", "fun strength speed trust safety look"),
        "soft toys": ("soft toy", "teddy bear, rabbit, elephant, fox, penguin, owl, dragon, giraffe, hedgehog, unicorn, lamb, "
                      "tiger, monkey, whale, octopus, badger, hippo, walrus, kangaroo, otter",
                      "fur, ears, stitching, eyes, paws, stuffing, seams, whiskers, tail, ribbon",
                      "velvet, felt, woollen, cotton, corduroy, mohair, flannel, denim", "touch strength look safety state"),
        "music": ("musical toy", "drum, trumpet, xylophone, whistle, music box, flute, tambourine, banjo, accordion, fiddle, "
                  "harmonica, ukulele, bugle, recorder, kazoo, rattle, concertina, tuba, cymbal, mandolin",
                  "tone, finish, case, strap, lid, keys, mouthpiece, handle", "wooden, tin, brass, plastic, copper, maple",
                  "sound strength fun ease trust"),
        "games": ("game", "jigsaw, chess set, board game, card game, memory game, marble run, maze, domino set, quiz, word game, "
                  "brain teaser, dice game, ludo set, draughts set, bingo set, treasure hunt, tile game, bagatelle",
                  "rules, pieces, box, instructions, board, cards, counters, booklet",
                  "wooden, cardboard, plastic, paper, cork, walnut, leather", "fun ease wit look state"),
        "figures": ("figurine", "doll, puppet, robot, knight, pirate, astronaut, soldier, ballerina, wizard, clown, mermaid, "
                    "marionette, nutcracker, goblin, princess, troll, cowboy, jester, fairy, centaur",
                    "face, costume, hair, hands, boots, hat, smile, cloak, joints, moustache",
                    "wooden, plastic, porcelain, tin, cloth, wax, clay", "strength look wit state fun"),
        "outdoors": ("outdoor toy", "kite, ball, scooter, skipping rope, hoop, sledge, tricycle, boomerang, bucket, swing, "
                     "spinning top, hobby horse, pogo stick, flying disc, butterfly net, catapult, pedal car, seesaw, trampoline",
                     "grip, handle, paint, frame, packaging, design, colours, edges",
                     "wooden, plastic, rubber, canvas, nylon, aluminium, bamboo", "fun strength safety speed ease"),
        "building": ("building toy", "castle, crane, tower, fort, windmill, lighthouse, farmhouse, drawbridge, garage, barn, "
                     "dolls' house, railway bridge, water mill, tree house, harbour, pulley, pagoda, pyramid, igloo",
                     "walls, roof, gates, bricks, plan, joints, base, hinges, stairs, chimney",
                     "wooden, cardboard, plastic, beech, tin, oak", "strength ease wit fun safety"),
        "science": ("science toy", "telescope, magnet, kaleidoscope, microscope, compass, globe, chemistry set, magnifying glass, "
                    "hourglass, periscope, magic lantern, gyroscope, prism, volcano kit, weather station, star chart, barometer",
                    "lenses, stand, manual, case, dial, mirrors, screws, scale", "brass, plastic, tin, copper, glass, mahogany",
                    "wit ease trust strength safety"),
        "crafts": ("craft toy", "paint box, sketch pad, loom, sticker book, stamp set, bead kit, magic set, easel, sewing kit, "
                   "colouring book, knitting kit, pottery wheel, crayon tin, candle kit, origami kit, mosaic kit, printing press",
                   "cover, brushes, pages, colours, instructions, lid, needles, pattern",
                   "wooden, paper, cardboard, plastic, leather, birch", "fun ease wit look state"),
    },
    "grandmother, Clara, teacher, Rosa, baker, Ada, librarian, aunt, Nora, doctor, Ivy, pianist, duchess, Martha, nurse, Lucy, "
    "seamstress, Olive, governess, Edith, florist, Amira, headmistress, Greta, milkmaid, Zoe, actress, Hanna, empress, Mabel, landlady, Ruth, ballet teacher, Sofia, innkeeper, Pearl, cellist, Dora, Priya, "
    "tailoress, Beatrix, goddess, Matilda, waitress, Yuki, flower girl, Wanda",
    "grandfather, Tom, postman, Oscar, sailor, Felix, butcher, uncle, Hugo, professor, Otto, clockmaker, colonel, Albert, "
    "magician, Leo, fisherman, Simon, choirboy, Henry, duke, Ravi, fireman, Jonas, juggler, Emil, carpenter, Walter, lamplighter, Nils, organist, Casper, chimney sweep, Bruno, lighthouse keeper, Amos, plumber, Kofi, mayor, Magnus, "
    "shepherd, Rufus, admiral, Victor, bishop, Pablo, policeman, Tariq",
    "niece, nephew, son, daughter, little sister, grandson, best friend, granddaughter, brother, cousin, neighbour, godson, "
    "mother, pupil, father, goddaughter, stepson, colleague, penfriend, chess partner, landlady, bandmate",
    "as a birthday present, for a rainy day, as a surprise, for Christmas, for a party, for a long journey, without asking the price, "
    "with great care, for the school fair, as a joke, in a great hurry, with a broad smile, for a sick friend, with trembling hands, "
    "for a wedding, without a word, for the village museum, with a happy sigh, as a farewell gift, in complete silence, "
    "for an Easter basket, with sticky fingers, for a christening, as a reward, with a wink, for the nursery, with a quiet hum, "
    "for a dentist's waiting room, as an apology, with a shy grin, for a puppet theatre, for the orphanage",
    "window, counter, door, staircase, till, doll's house, fireplace, train table, rocking chair, mirror, grandfather clock, "
    "gumball machine, carousel, Christmas tree, reading corner, coat stand, notice board, stuffed bear, fish tank, wishing well",
    "on the top shelf, in the window, on the bottom shelf, in the glass case, on the middle shelf, behind the counter, in the attic, "
    "on the round table, under the stairs, in the red cupboard, in the wicker basket, in the third drawer, above the fireplace, "
    "in the old trunk, on the windowsill, behind the velvet curtain, in the cellar, beside the exit, on the trolley, in the alcove",
)  # fmt: skip

OTHERSHOP = _shop(
    "othershop",
    {
        "tools": ("garden tool", "spade, rake, trowel, hoe, garden fork, pair of shears, saw, dibber, sickle, axe, pruning knife, "
                  "scythe, mallet, wheelbarrow, lawnmower, edging iron, pickaxe, billhook, crowbar, leaf blower",
                  "handle, blade, grip, finish, shaft, guarantee, weight, balance", "steel, iron, ash, bronze, fibreglass, titanium",
                  "edge strength ease trust safety"),
        "pots": ("planter", "flower pot, window box, urn, hanging basket, trough, seed tray, tub, bulb bowl, jardiniere, raised bed, "
                 "saucer, plant stand, amphora, strawberry pot, cachepot, terrarium",
                 "glaze, rim, base, shape, drainage, pattern, size, finish", "clay, stone, zinc, wicker, ceramic, concrete, marble",
                 "strength look ease state"),
        "plants": ("plant", "rose, tulip, lavender bush, fern, apple tree, daffodil, tomato plant, geranium, ivy, cactus plant, peony, "
                   "hydrangea, lemon tree, pansy, dahlia, orchid, magnolia, rhubarb crown, foxglove, snowdrop, quince, clematis",
                   "leaves, scent, blossom, roots, petals, buds, stem, foliage", "potted, climbing, dwarf, evergreen, hardy, wild",
                   "growth growth trust look"),
        "watering": ("watering device", "watering can, hose, sprinkler, water butt, rain gauge, pump, spray bottle, nozzle, fountain, "
                     "drip line, cistern, hose reel, soaker, standpipe, tap timer",
                     "spout, valve, tap, thread, seal, coupling, pressure, lid", "copper, zinc, rubber, steel, enamel, vinyl",
                     "trust ease strength state"),
        "seats": ("garden seat", "bench, deckchair, hammock, stool, lounger, rocking chair, swing seat, folding chair, love seat, "
                  "picnic rug, sofa, footstool, armchair, cushion, kneeler, throne",
                  "fabric, legs, cushions, armrests, back, slats, varnish, price tag", "teak, wicker, iron, canvas, cedar, willow",
                  "comfort comfort strength look"),
        "shelters": ("shelter", "greenhouse, shed, cold frame, arbour, pergola, tent, summer house, polytunnel, parasol, gazebo, "
                     "beehive, henhouse, bird house, rabbit hutch, trellis, cloche, awning",
                     "roof, panels, door, frame, hinges, floor, hatch, gutter", "cedar, glass, canvas, pine, bamboo, galvanised",
                     "comfort strength ease safety"),
        "ornaments": ("ornament", "gnome, sundial, bird bath, lantern, weathervane, wind chime, statue, scarecrow, stone frog, "
                      "flamingo, cherub, gargoyle, mushroom, garden globe, milestone, obelisk, signpost",
                      "face, base, craftsmanship, glow, pose, expression, gilding, shadow",
                      "stone, bronze, concrete, iron, ceramic, slate, resin", "wit look strength state"),
        "clothes": ("garment", "straw hat, apron, raincoat, pair of gloves, pair of boots, scarf, waistcoat, pair of clogs, jacket, "
                    "sunhat, poncho, overall, cardigan, cap, cape, smock",
                    "pockets, lining, buttons, sleeves, collar, stitching, buckle, fit",
                    "leather, cotton, waxed, linen, tweed, waterproof, hemp", "comfort touch strength state"),
    },
    "gardener, Flora, widow, Hazel, beekeeper, Daisy, botanist, Marigold, landlady, Jasmine, vet, Heather, herbalist, Bridget, "
    "countess, Poppy, cook, Agnes, dairymaid, Ingrid, stepmother, Fatima, midwife, Rowena, nun, Willow, weather girl, Leila, bell ringer, Judith, postmistress, Saffron, "
    "campsite hostess, Iris",
    "farmer, Basil, vicar, Jack, forester, Reed, groundsman, Walter, caretaker, Ernest, mole catcher, Gilbert, thatcher, Cliff, "
    "gamekeeper, Angus, cider maker, Noah, handyman, Boris, miller, Omar, ploughman, Silas, monk, Percy, hermit, Diego, blacksmith, Rowan, tree surgeon, Barnaby, "
    "stonemason, Glen",
    "wife, husband, allotment, tenant, parents, sister, grandmother, allotment neighbour, fiancee, gardening club, stepdaughter, "
    "lodger, business partner, in-laws, assistant, apprentice, boss, choir, babysitter, roommate, fiddle teacher, second cousin, rival, great-aunt",
    "for the spring, with muddy hands, for the flower show, before the first frost, for the vegetable patch, with a loud laugh, "
    "for the harvest festival, as a housewarming gift, against the slugs, for the village green, with a nod, in the pouring rain, "
    "for a shady corner, as an anniversary present, for the churchyard, with a merry whistle, for the roof terrace, despite the drizzle, "
    "for a hotel lobby, with surprising speed, for the orchard, after a long debate, for a small balcony, with one gloved hand",
    "gate, compost heap, potting bench, pond, seed rack, weighing scales, greenhouse heater, rose arch, loading bay, tea room, "
    "cash desk, bonfire, herb wall, rainwater barrel, sawhorse, map of the valley",
    "on the wooden pallet, in the greenhouse, on the gravel path, in the potting shed, under the glass roof, along the brick wall, "
    "on the lower bench, in the walled yard, behind the fence, on the metal rack, in the polytunnel, beneath the old pear tree, "
    "in the crate, on the loading ramp, in the lean-to, at the end of the aisle",
)  # fmt: skip

SHOPS = {shop.name: shop for shop in (TOYSHOP, OTHERSHOP)}
