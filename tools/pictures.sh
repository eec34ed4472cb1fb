#!/usr/bin/env bash
# Makes the pictures and the film of the README anew, in docs/book/src/pictures/, and the small ones of the browser's gallery, in
# web/page/pictures/. It takes some minutes, most of them for the 100,000 bodies of heap_100k. Look at each afterwards.
#
# Arguments are the names of the pictures to be made, such as drum or small_drum; without any, all are. ROCKFALL is a program
# that is there already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -z ${ROCKFALL:-} ]]; then
    cargo build --release
fi
rockfall=${ROCKFALL:-${CARGO_TARGET_DIR:-target}/release/rockfall}
wanted=" $* "

# picture NAME SCENE ARGUMENTS...: the end of a scene.
picture() {
    local name=$1 scene=$2
    shift 2
    if [[ $wanted != "  " && $wanted != *" $name "* ]]; then
        return
    fi
    "$rockfall" run "$scene" --snapshot "docs/book/src/pictures/$name.jpg" --samples 3 --plain "$@" > /dev/null
}

if [[ $wanted == "  " || $wanted == *" pile "* ]]; then
    "$rockfall" render scenes/pile.json --video docs/book/src/pictures/pile.gif --size 440x280 --fps 15 --speed 0.4 \
        --duration 0.8 --plain > /dev/null
fi
picture falling docs/book/src/pictures/falling.json --duration 0.6 --size 800x600 --camera 30,14 --colour shape
picture heap_100k docs/book/src/pictures/heap_100k.json --size 1200x600 --camera 35,17,1.26 --colour shape
picture drum scenes/drum.json --duration 2.5 --size 800x600 --camera 14,6 --colour speed --top 1.4
picture water scenes/water.json --duration 3 --size 800x600 --camera 24,22 --colour shape
picture explosion scenes/ancestors/exploding_body.json --duration 0.95 --size 800x600 --camera 24,12 --colour body
picture hopper scenes/hopper.json --duration 1.1 --size 800x600 --camera 20,14,2 --target 0,0.27,0.03 \
    --colour speed --top 1.6

# shown PAGE LANGUAGE FILE: a file that a page of the handbook shows.
shown() {
    sed -n "/^\`\`\`$2 $3\$/,/^\`\`\`\$/p" "docs/book/src/tutorials/$1.md" | sed '1d;$d' > "$files/$3"
}

files=$(mktemp -d)
trap 'rm -r "$files"' EXIT
shown heap json heap.json
shown drum json drum.json
shown drum obj drum.obj
picture tutorial_heap "$files/heap.json" --size 720x400 --camera 30,18,1.1 --colour body
picture tutorial_drum "$files/drum.json" --size 720x400 --camera 0,5,1.1 --colour speed

# small SCENE ARGUMENTS...: a scene of the gallery, as one can tell it from the others.
small() {
    local scene=$1
    shift
    if [[ $wanted != "  " && $wanted != *" small_$scene "* ]]; then
        return
    fi
    "$rockfall" run "scenes/$scene.json" --snapshot "web/page/pictures/$scene.jpg" --size 340x180 --samples 4 --plain \
        --quiet "$@" > /dev/null
}

small drum --duration 1.5 --camera 14,6 --colour speed --top 1.4
small hopper --duration 1.1 --camera 20,14,2 --target 0,0.27,0.03 --colour speed --top 1.6
small pile --duration 0.8 --colour shape
small water --duration 3 --camera 24,22 --colour shape
small mixer --duration 0.5 --camera 30,35
small conveyor --duration 1.5
small column_collapse --duration 0.3 --colour speed
small conical_hopper --duration 1
small pour --duration 0.8
small periodic --duration 0.4 --colour speed
small drum_lifters --duration 1 --camera 14,6 --colour speed
small shaker --duration 0.5
small heat --duration 0.6 --colour temperature
small custom_law --duration 0.2 --adapter llvmpipe
small springs --duration 1
small airplane --duration 1
small pile_100k --steps 1 --colour shape
