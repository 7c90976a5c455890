# Sourced by the scripts beside it: finds or installs what Parlor needs on this machine, or says what to do.

say() { printf '%s\n' "parlor: $*" >&2; }

stop() {
    say "$*"
    exit 1
}

# Debian's server binaries are not on the path, and one in its own folder is as good.
has_postgres() {
    command -v postgres >/dev/null 2>&1 && return 0
    for bin in /usr/lib/postgresql/*/bin/postgres; do
        [ -x "$bin" ] && return 0
    done
    return 1
}

# install PACKAGE...: with apt, as root or by sudo; elsewhere it says which packages are wanted.
install() {
    if ! command -v apt-get >/dev/null 2>&1; then
        stop "missing: $*. There is no apt-get here; install what these Debian packages hold, then run the same command again."
    fi
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || stop "missing: $*. Install these packages as root (apt-get install $*), then run the same command again."
        as_root="sudo"
    fi
    say "installing $* (Debian packages)"
    # Debian starts a server on port 5432 when the package is installed. Parlor starts its own, so that one is not wanted. A
    # machine that already has Postgres keeps its settings.
    conf=/etc/postgresql-common/createcluster.conf
    case " $* " in
    *" postgresql "*)
        if [ ! -e "$conf" ]; then
            $as_root mkdir -p /etc/postgresql-common
            echo "create_main_cluster = false" | $as_root tee "$conf" >/dev/null
        fi
        ;;
    esac
    set -- -y -q --no-install-recommends -o Dpkg::Options::=--force-confold "$@"
    $as_root apt-get update -q >&2 || stop "apt-get update failed; see above, mend the package sources or the network, then run the same command again."
    $as_root env DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1 apt-get install "$@" >&2 ||
        stop "apt-get install failed; see above, then run the same command again."
}

# Looks for what the packages give, and installs those that are missing. Arguments: "browser" for the tests.
need_packages() {
    missing=""
    has_postgres || missing="$missing postgresql"
    # ring, the only part that is not Rust, is compiled with the system's C compiler.
    if ! command -v cc >/dev/null 2>&1 || [ ! -e /usr/include/stdlib.h ]; then
        missing="$missing gcc libc6-dev"
    fi
    if [ "${1:-}" = browser ]; then
        command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
        command -v chromedriver >/dev/null 2>&1 || missing="$missing chromium-driver"
    fi
    # shellcheck disable=SC2086 # a list of words
    [ -z "$missing" ] || install $missing
}

# Finds cargo, also where rustup puts it, and checks that it is new enough for Cargo.toml.
need_rust() {
    command -v cargo >/dev/null 2>&1 || PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
    wanted=$(sed -n 's/^rust-version = "\([0-9.]*\)"$/\1/p' Cargo.toml)
    get="get it from https://rustup.rs, then run the same command again"
    command -v cargo >/dev/null 2>&1 || stop "Rust $wanted or newer is needed and no cargo was found, not even in ~/.cargo/bin: $get."
    version=$(rustc --version 2>/dev/null | cut -d' ' -f2)
    [ -n "$version" ] || stop "cargo is here, but rustc --version fails; with rustup: rustup default stable. Rust $wanted or newer is needed."
    oldest=$(printf '%s\n%s\n' "$wanted" "$version" | sort -V | head -n 1)
    [ "$oldest" = "$wanted" ] || stop "Rust $wanted or newer is needed, found $version at $(command -v rustc): with rustup: rustup update stable; else $get."
    export PATH
}
