#!/usr/bin/env bash
# Makes the pictures and the film of the README anew, in docs/pictures/. It takes some minutes, most of them for the
# 100,000 bodies of heap_100k. Look at each afterwards.
#
# Arguments are the names of the pictures to be made; without any, all are.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo build --release
rockfall=${CARGO_TARGET_DIR:-target}/release/rockfall
wanted=" $* "

# picture NAME SCENE ARGUMENTS...: the end of a scene.
picture() {
    local name=$1 scene=$2
    shift 2
    if [[ $wanted != "  " && $wanted != *" $name "* ]]; then
        return
    fi
    "$rockfall" run "$scene" --snapshot "docs/pictures/$name.jpg" --samples 3 --plain "$@" > /dev/null
}

if [[ $wanted == "  " || $wanted == *" pile "* ]]; then
    "$rockfall" render scenes/pile.json --video docs/pictures/pile.gif --size 440x280 --fps 15 --speed 0.4 \
        --duration 0.8 --plain > /dev/null
fi
picture falling docs/pictures/falling.json --duration 0.6 --size 800x600 --camera 30,14 --colour shape
picture heap_100k docs/pictures/heap_100k.json --size 1200x600 --camera 35,17,1.26 --colour shape
picture drum scenes/drum.json --duration 2.5 --size 800x600 --camera 14,6 --colour speed --top 1.4
picture water scenes/water.json --duration 3 --size 800x600 --camera 24,22 --colour shape
picture explosion scenes/ancestors/exploding_body.json --duration 0.95 --size 800x600 --camera 24,12 --colour body
picture hopper scenes/hopper.json --duration 1.1 --size 800x600 --camera 20,14,2 --target 0,0.27,0.03 \
    --colour speed --top 1.6
