#!/usr/bin/env bash
# Everything that asks for a GPU, in one call, on a machine that needs neither Rust nor a network:
# tests, benchmark with roofline, scaling, start-up, frame times, and other programs on the same pile.
#
#   tools/gpu_machine.sh pack                where Rust is: builds, and packs target/gpu-machine/
#   tools/gpu_machine.sh run [OUT]           where the GPU is, with that folder beside the sources; what
#                                            was measured goes to OUT, target/gpu-machine/out by default
#   tools/gpu_machine.sh run [OUT] --small   the same on small scenes, in minutes on a software adapter
#
# It ends within nine minutes, on small scenes within half an hour: what there is no time for is left out, and named.
# What is in target/gpu-machine/ besides is used:
#   *.deb    is unpacked if the machine has no Vulkan loader (Debian's libvulkan1 has one)
#   *.whl    is installed for Python 3, for the peers (warp-lang, numpy)
# The adapter is the best GPU; ROCKFALL_ADAPTER names another one by a part of its description.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
pack=target/gpu-machine
# Modules of tests/it that need a device, and none of the sources but scenes and golden pictures.
tests=(passes determinism neighbours lost physics forces sleep elastic compare)

pack() {
    set -e
    cargo build --release --workspace
    local built
    built=$(cargo test --release --no-run --message-format=json --test it 2>/dev/null)
    rm -rf "$pack/bin"
    mkdir -p "$pack/bin"
    pwd -P > "$pack/bin/sources"
    local target=${CARGO_TARGET_DIR:-target}
    cp "$target/release/rockfall" "$target/release/peers" "$pack/bin/"
    cp "$(grep -o '"executable":"[^"]*/it-[0-9a-f]*"' <<< "$built" | cut -d'"' -f4)" "$pack/bin/tests"
    strip "$pack"/bin/rockfall "$pack"/bin/peers "$pack"/bin/tests
    tar -C "$pack" -czf "$pack/bin.tar.gz" bin
    rm -r "$pack/bin"
    du -h "$pack/bin.tar.gz"
}

# Runs a command or a function of this script.
limited() {
    local seconds=$1
    shift
    if [[ $(type -t "$1") == function ]]; then
        timeout "$seconds" bash -c "$(declare -p out rockfall adapter); $(declare -f "$1"); \"\$@\"" bash "$@"
    else
        timeout "$seconds" "$@"
    fi
}

# Runs a command for so many seconds at most; says how long it took, and notes what failed.
stage() {
    local seconds=$1 name=$2 begin left
    shift 2
    begin=$(date +%s) left=$((end - $(date +%s)))
    ((seconds < left)) || seconds=$left
    if ((seconds <= 0)); then
        echo "$name: LEFT OUT, the time is used up"
        failed=1
    elif limited "$seconds" "$@" > "$out/$name.log" 2>&1; then
        echo "$name: ok, $(($(date +%s) - begin)) s"
    else
        echo "$name: FAILED with exit code $? after $(($(date +%s) - begin)) s; the end of $out/$name.log:"
        tail -n 15 "$out/$name.log"
        failed=1
    fi
}

# bench FILE ARGUMENTS...: measures scenes, and writes the figures to FILE.
bench() {
    local file=$1
    shift
    "$rockfall" bench --backend gpu "${adapter[@]}" --roofline --json "$@" > "$file"
}

# Seconds from the command to the end of its first step.
start_up() {
    local begin
    begin=$(date +%s.%N)
    "$rockfall" run "$1" --backend gpu "${adapter[@]}" --steps 1 || return
    awk -v begin="$begin" -v end="$(date +%s.%N)" 'BEGIN { printf "%.2f s\n", end - begin }'
}

run() {
    out=$1
    local size=$2 scratch
    mkdir -p "$out"
    scratch=$(mktemp -d)
    tar -C "$scratch" -xzf "$pack/bin.tar.gz" || exit 1
    rockfall=$scratch/bin/rockfall
    failed=0
    adapter=()
    if [[ -n ${ROCKFALL_ADAPTER:-} ]]; then
        adapter=(--adapter "$ROCKFALL_ADAPTER")
        export ROCKFALL_TEST_ADAPTER=$ROCKFALL_ADAPTER
    fi
    if ! ldconfig -p | grep -q libvulkan.so.1 && compgen -G "$pack/*.deb" > /dev/null; then
        for file in "$pack"/*.deb; do dpkg -x "$file" /; done
        ldconfig
    fi
    local python=()
    if compgen -G "$pack/*.whl" > /dev/null; then
        python3 -m pip install -q --no-index --no-deps --no-compile --target "$scratch/site" "$pack"/*.whl \
            && export PYTHONPATH=$scratch/site && python=(--python python3)
    fi
    # Tests look for scenes where they were built.
    local sources
    sources=$(cat "$scratch/bin/sources")
    if [[ ! -e $sources ]]; then
        mkdir -p "$(dirname "$sources")"
        ln -s "$PWD" "$sources"
    fi

    "$rockfall" adapters | tee "$out/adapters.txt"
    local tests_end=$(($(date +%s) + 100)) limit=130
    end=$(($(date +%s) + 530))
    local scenes=() how=() scaling=(spheres_10k spheres_100k spheres_1m) pile=spheres_1m peers=()
    local drawn=pile_100k first=cubes_100k start
    if [[ $size == small ]]; then
        tests_end=$(($(date +%s) + 1500)) end=$(($(date +%s) + 1790))
        how=(--settle 0.002 --steps 10 --repeats 2)
        scenes=(scenes/bench/cubes_10k.json)
        scaling=(spheres_10k large_among_10k)
        pile=spheres_10k peers=(--steps 100 --warm-up 10) drawn=pile first=cubes_10k
    fi
    # On a driver without a cache the first start compiles all shaders.
    for start in first second; do
        stage 40 "start-up-$start" start_up "scenes/bench/$first.json"
        tail -n 1 "$out/start-up-$start.log"
    done
    for name in "${tests[@]}"; do
        stage $((tests_end - $(date +%s))) "test-$name" "$scratch/bin/tests" "$name::"
    done
    stage $((limit + 30)) bench-gpu bench "$out/bench-gpu.json" --limit $limit "${how[@]}" "${scenes[@]}"
    for name in "${scaling[@]}"; do
        stage 45 "scaling-$name" bench "$out/scaling-$name.json" --limit 30 "${how[@]}" \
            "scenes/bench/$name.json"
    done
    # 100,000 bodies of 8 spheres; the log ends with what a frame takes.
    stage 60 frames "$rockfall" render "scenes/$drawn.json" --backend gpu "${adapter[@]}" --duration 0.1 --fps 100 \
        --out "$scratch/frames"
    tail -n 1 "$out/frames.log"
    # The pile has to settle first.
    stage 240 peers "$scratch/bin/peers" "scenes/bench/$pile.json" --backend gpu "${adapter[@]}" \
        --rockfall "$rockfall" --rounds 3 "${peers[@]}" "${python[@]}" --out "$out"
    rm -rf "$scratch"
    return $failed
}

case ${1:-} in
    pack) pack ;;
    run)
        out=$pack/out size=full
        for argument in "${@:2}"; do
            if [[ $argument == --small ]]; then size=small; else out=$argument; fi
        done
        run "$out" $size
        ;;
    *)
        sed -n '2,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit 2
        ;;
esac
