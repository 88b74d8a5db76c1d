"""The toyshop: what stands on its shelves, who comes in, and where things happen."""

from contrast_kit.data.toyshop.shop import department, shop

TOYSHOP = shop(
    name="toyshop",
    departments=[
        department(
            name="vehicles",
            kind="toy vehicle",
            goods="""
                train, fire engine, bus, race car, tractor, rocket, lorry, sailing boat, submarine,
                tram, ambulance, biplane, motorbike, airship, bulldozer, helicopter, caravan,
                locomotive, ferry, hovercraft""",
            parts="paintwork, wheels, engine, windows, doors, cabin, bumper, headlamps, siren, chassis",
            materials="tin, wooden, plastic, steel, pine, rubber",
            axes="fun, strength, speed, trust, safety, look",
        ),
        department(
            name="soft toys",
            kind="soft toy",
            goods="""
                teddy bear, rabbit, elephant, fox, penguin, owl, dragon, giraffe, hedgehog, unicorn,
                lamb, tiger, monkey, whale, octopus, badger, hippo, walrus, kangaroo, otter""",
            parts="fur, ears, stitching, eyes, paws, stuffing, seams, whiskers, tail, ribbon",
            materials="velvet, felt, woollen, cotton, corduroy, mohair, flannel, denim",
            axes="touch, strength, look, safety, state",
        ),
        department(
            name="music",
            kind="musical toy",
            goods="""
                drum, trumpet, xylophone, whistle, music box, flute, tambourine, banjo, accordion,
                fiddle, harmonica, ukulele, bugle, recorder, kazoo, rattle, concertina, tuba, cymbal,
                mandolin""",
            parts="tone, finish, case, strap, lid, keys, mouthpiece, handle",
            materials="wooden, tin, brass, plastic, copper, maple",
            axes="sound, strength, fun, ease, trust",
        ),
        department(
            name="games",
            kind="game",
            goods="""
                jigsaw, chess set, board game, card game, memory game, marble run, maze, domino set,
                quiz, word game, brain teaser, dice game, ludo set, draughts set, bingo set, treasure
                hunt, tile game, bagatelle""",
            parts="rules, pieces, box, instructions, board, cards, counters, booklet",
            materials="wooden, cardboard, plastic, paper, cork, walnut, leather",
            axes="fun, ease, wit, look, state",
        ),
        department(
            name="figures",
            kind="figurine",
            goods="""
                doll, puppet, robot, knight, pirate, astronaut, soldier, ballerina, wizard, clown,
                mermaid, marionette, nutcracker, goblin, princess, troll, cowboy, jester, fairy, centaur""",
            parts="face, costume, hair, hands, boots, hat, smile, cloak, joints, moustache",
            materials="wooden, plastic, porcelain, tin, cloth, wax, clay",
            axes="strength, look, wit, state, fun",
        ),
        department(
            name="outdoors",
            kind="outdoor toy",
            goods="""
                kite, ball, scooter, skipping rope, hoop, sledge, tricycle, boomerang, bucket, swing,
                spinning top, hobby horse, pogo stick, flying disc, butterfly net, catapult, pedal car,
                seesaw, trampoline""",
            parts="grip, handle, paint, frame, packaging, design, colours, edges",
            materials="wooden, plastic, rubber, canvas, nylon, aluminium, bamboo",
            axes="fun, strength, safety, speed, ease",
        ),
        department(
            name="building",
            kind="building toy",
            goods="""
                castle, crane, tower, fort, windmill, lighthouse, farmhouse, drawbridge, garage, barn,
                dolls' house, railway bridge, water mill, tree house, harbour, pulley, pagoda, pyramid,
                igloo""",
            parts="walls, roof, gates, bricks, plan, joints, base, hinges, stairs, chimney",
            materials="wooden, cardboard, plastic, beech, tin, oak",
            axes="strength, ease, wit, fun, safety",
        ),
        department(
            name="science",
            kind="science toy",
            goods="""
                telescope, magnet, kaleidoscope, microscope, compass, globe, chemistry set, magnifying
                glass, hourglass, periscope, magic lantern, gyroscope, prism, volcano kit, weather
                station, star chart, barometer""",
            parts="lenses, stand, manual, case, dial, mirrors, screws, scale",
            materials="brass, plastic, tin, copper, glass, mahogany",
            axes="wit, ease, trust, strength, safety",
        ),
        department(
            name="crafts",
            kind="craft toy",
            goods="""
                paint box, sketch pad, loom, sticker book, stamp set, bead kit, magic set, easel, sewing
                kit, colouring book, knitting kit, pottery wheel, crayon tin, candle kit, origami kit,
                mosaic kit, printing press""",
            parts="cover, brushes, pages, colours, instructions, lid, needles, pattern",
            materials="wooden, paper, cardboard, plastic, leather, birch",
            axes="fun, ease, wit, look, state",
        ),
    ],
    women="""
        grandmother, Clara, teacher, Rosa, baker, Ada, librarian, aunt, Nora, doctor, Ivy, pianist,
        duchess, Martha, nurse, Lucy, seamstress, Olive, governess, Edith, florist, Amira, headmistress,
        Greta, milkmaid, Zoe, actress, Hanna, empress, Mabel, landlady, Ruth, ballet teacher, Sofia,
        innkeeper, Pearl, cellist, Dora, Priya, tailoress, Beatrix, goddess, Matilda, waitress, Yuki,
        flower girl, Wanda""",
    men="""
        grandfather, Tom, postman, Oscar, sailor, Felix, butcher, uncle, Hugo, professor, Otto,
        clockmaker, colonel, Albert, magician, Leo, fisherman, Simon, choirboy, Henry, duke, Ravi,
        fireman, Jonas, juggler, Emil, carpenter, Walter, lamplighter, Nils, organist, Casper, chimney
        sweep, Bruno, lighthouse keeper, Amos, plumber, Kofi, mayor, Magnus, shepherd, Rufus, admiral,
        Victor, bishop, Pablo, policeman""",
    recipients="""
        niece, nephew, son, daughter, little sister, grandson, best friend, granddaughter, brother,
        cousin, neighbour, godson, mother, pupil, father, goddaughter, stepson, colleague, penfriend,
        chess partner, landlady, bandmate""",
    reasons="""
        as a birthday present, for a rainy day, as a surprise, for Christmas, for a party, for a long
        journey, without asking the price, with great care, for the school fair, as a joke, in a great
        hurry, with a broad smile, for a sick friend, with trembling hands, for a wedding, without a
        word, for the village museum, with a happy sigh, as a farewell gift, in complete silence, for an
        Easter basket, with sticky fingers, for a christening, as a reward, with a wink, for the
        nursery, with a quiet hum, for a dentist's waiting room, as an apology, with a shy grin, for a
        puppet theatre, for the orphanage""",
    places="""
        window, counter, door, staircase, till, doll's house, fireplace, train table, rocking chair,
        mirror, grandfather clock, gumball machine, carousel, Christmas tree, reading corner, coat
        stand, notice board, stuffed bear, fish tank, wishing well""",
    shelves="""
        on the top shelf, in the window, on the bottom shelf, in the glass case, on the middle shelf,
        behind the counter, in the attic, on the round table, under the stairs, in the red cupboard, in
        the wicker basket, in the third drawer, above the fireplace, in the old trunk, on the
        windowsill, behind the velvet curtain, in the cellar, beside the exit, on the trolley, in the
        alcove""",
)
