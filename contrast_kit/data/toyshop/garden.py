"""The other shop, of a gardener: other goods, other people, other corners."""

from contrast_kit.data.toyshop.shop import department, shop

OTHERSHOP = shop(
    name="othershop",
    departments=[
        department(
            name="tools",
            kind="garden tool",
            goods="""
                spade, rake, trowel, hoe, garden fork, pair of shears, saw, dibber, sickle, axe, pruning
                knife, scythe, mallet, wheelbarrow, lawnmower, edging iron, pickaxe, billhook, crowbar,
                leaf blower""",
            parts="handle, blade, grip, finish, shaft, guarantee, weight, balance",
            materials="steel, iron, ash, bronze, fibreglass, titanium",
            axes="edge, strength, ease, trust, safety",
        ),
        department(
            name="pots",
            kind="planter",
            goods="""
                flower pot, window box, urn, hanging basket, trough, seed tray, tub, bulb bowl,
                jardiniere, raised bed, saucer, plant stand, amphora, strawberry pot, cachepot,
                terrarium""",
            parts="glaze, rim, base, shape, drainage, pattern, size, finish",
            materials="clay, stone, zinc, wicker, ceramic, concrete, marble",
            axes="strength, look, ease, state",
        ),
        department(
            name="plants",
            kind="plant",
            goods="""
                rose, tulip, lavender bush, fern, apple tree, daffodil, tomato plant, geranium, ivy,
                cactus plant, peony, hydrangea, lemon tree, pansy, dahlia, orchid, magnolia, rhubarb
                crown, foxglove, snowdrop, quince, clematis""",
            parts="leaves, scent, blossom, roots, petals, buds, stem, foliage",
            materials="potted, climbing, dwarf, evergreen, hardy, wild",
            axes="growth, growth, trust, look",
        ),
        department(
            name="watering",
            kind="watering device",
            goods="""
                watering can, hose, sprinkler, water butt, rain gauge, pump, spray bottle, nozzle,
                fountain, drip line, cistern, hose reel, soaker, standpipe, tap timer""",
            parts="spout, valve, tap, thread, seal, coupling, pressure, lid",
            materials="copper, zinc, rubber, steel, enamel, vinyl",
            axes="trust, ease, strength, state",
        ),
        department(
            name="seats",
            kind="garden seat",
            goods="""
                bench, deckchair, hammock, stool, lounger, rocking chair, swing seat, folding chair,
                love seat, picnic rug, sofa, footstool, armchair, cushion, kneeler, throne""",
            parts="fabric, legs, cushions, armrests, back, slats, varnish, price tag",
            materials="teak, wicker, iron, canvas, cedar, willow",
            axes="comfort, comfort, strength, look",
        ),
        department(
            name="shelters",
            kind="shelter",
            goods="""
                greenhouse, shed, cold frame, arbour, pergola, tent, summer house, polytunnel, parasol,
                gazebo, beehive, henhouse, bird house, rabbit hutch, trellis, cloche, awning""",
            parts="roof, panels, door, frame, hinges, floor, hatch, gutter",
            materials="cedar, glass, canvas, pine, bamboo, galvanised",
            axes="comfort, strength, ease, safety",
        ),
        department(
            name="ornaments",
            kind="ornament",
            goods="""
                gnome, sundial, bird bath, lantern, weathervane, wind chime, statue, scarecrow, stone
                frog, flamingo, cherub, gargoyle, mushroom, garden globe, milestone, obelisk, signpost""",
            parts="face, base, craftsmanship, glow, pose, expression, gilding, shadow",
            materials="stone, bronze, concrete, iron, ceramic, slate, resin",
            axes="wit, look, strength, state",
        ),
        department(
            name="clothes",
            kind="garment",
            goods="""
                straw hat, apron, raincoat, pair of gloves, pair of boots, scarf, waistcoat, pair of
                clogs, jacket, sunhat, poncho, overall, cardigan, cap, cape, smock""",
            parts="pockets, lining, buttons, sleeves, collar, stitching, buckle, fit",
            materials="leather, cotton, waxed, linen, tweed, waterproof, hemp",
            axes="comfort, touch, strength, state",
        ),
    ],
    women="""
        gardener, Flora, widow, Hazel, beekeeper, Daisy, botanist, Marigold, landlady, Jasmine, vet,
        Heather, herbalist, Bridget, countess, Poppy, cook, Agnes, dairymaid, Ingrid, stepmother,
        Fatima, midwife, Rowena, nun, Willow, weather girl, Leila, bell ringer, Judith, postmistress,
        Saffron, campsite hostess, Iris""",
    men="""
        farmer, Basil, vicar, Jack, forester, Reed, groundsman, Walter, caretaker, Ernest, mole catcher,
        Gilbert, thatcher, Cliff, gamekeeper, Angus, cider maker, Noah, handyman, Boris, miller, Omar,
        ploughman, Silas, monk, Percy, hermit, Diego, blacksmith, Rowan, tree surgeon, Barnaby,
        stonemason, Glen""",
    recipients="""
        wife, husband, allotment, tenant, parents, sister, grandmother, allotment neighbour, fiancee,
        gardening club, stepdaughter, lodger, business partner, in-laws, assistant, apprentice, boss,
        choir, babysitter, roommate, fiddle teacher, second cousin, rival, great-aunt""",
    reasons="""
        for the spring, with muddy hands, for the flower show, before the first frost, for the vegetable
        patch, with a loud laugh, for the harvest festival, as a housewarming gift, against the slugs,
        for the village green, with a nod, in the pouring rain, for a shady corner, as an anniversary
        present, for the churchyard, with a merry whistle, for the roof terrace, despite the drizzle,
        for a hotel lobby, with surprising speed, for the orchard, after a long debate, for a small
        balcony, with one gloved hand""",
    places="""
        gate, compost heap, potting bench, pond, seed rack, weighing scales, greenhouse heater, rose
        arch, loading bay, tea room, cash desk, bonfire, herb wall, rainwater barrel, sawhorse, map of
        the valley""",
    shelves="""
        on the wooden pallet, in the greenhouse, on the gravel path, in the potting shed, under the
        glass roof, along the brick wall, on the lower bench, in the walled yard, behind the fence, on
        the metal rack, in the polytunnel, beneath the old pear tree, in the crate, on the loading ramp,
        in the lean-to, at the end of the aisle""",
)
