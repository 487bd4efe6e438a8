# Installs the missing packages of a measurement by apt-get. Sourced by the scripts of this folder's parent; `measurement` is the name of the script.
#
#     need PACKAGE COMMAND…   marks the package as missing if the command fails
#     install_missing         installs the missing packages, or says why not

missing=()
need() { # package, then a command that succeeds if the package is installed
    local package="$1"
    shift
    if ! "$@" >/dev/null 2>&1; then missing+=("$package"); fi
}
skip() { echo "$measurement: missing: $1; $2. The programs that need it are not measured." >&2; }

install_packages() {
    if ! command -v apt-get >/dev/null; then
        skip "${missing[*]}" "there is no apt-get to install it with"
        return
    fi
    as_root=(env)
    if [ "$(id -u)" -ne 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            skip "${missing[*]}" "installing takes root"
            return
        fi
        as_root=(sudo)
    fi
    echo "$measurement: installing ${missing[*]}" >&2
    # Debian starts a server immediately after its installation, unless this file forbids the start. An existing file is kept.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap '"${as_root[@]}" rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
        "${as_root[@]}" chmod 755 "$policy"
    fi
    "${as_root[@]}" apt-get update -qq >&2 || true
    if apt_install "${missing[@]}"; then return; fi
    # A package that cannot be installed must not prevent the installation of the others.
    for package in "${missing[@]}"; do
        apt_install "$package" || skip "$package" "apt-get can't install it"
    done
}
apt_install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# In a subshell: its end undoes the preparations of the installation.
install_missing() { if [ "${#missing[@]}" -gt 0 ]; then (install_packages); fi; }
