#!/bin/sh
# Builds Horovod against the torch of an environment, once: horovod.sh TORCH_ENVIRONMENT TARGET_ENVIRONMENT
# Its last release wants C++14, today's torch C++20: two of its CMake files are changed before it is built.
# Needs g++, make and Python's headers, and tells what is missing; CMake comes with it. About six CPU minutes.
set -eu

torch=$1 target=$2 version=0.28.1
stamp=$target/.horovod-$version-$("$torch/bin/python" -c 'import torch; print(torch.__version__)')
[ -e "$stamp" ] && exit 0

for tool in g++ make tar; do
    command -v "$tool" > /dev/null || { echo "Horovod is built here and finds no $tool; on Debian: apt-get install g++ make tar python3-dev"; exit 1; }
done
"$torch/bin/python" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2> /dev/null \
    || { echo "Horovod is built here and finds no Python.h; on Debian: apt-get install python3-dev"; exit 1; }

echo "building Horovod $version in $target (once, some minutes)"
rm -rf "$target"
"$torch/bin/python" -m venv "$target"
# torch itself is shared, not copied.
"$torch/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' \
    > "$("$target/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/torch.pth"
"$target/bin/pip" install --quiet 'cmake<4' 'setuptools<81' wheel cloudpickle packaging
source=$target/source
mkdir -p "$source"
"$target/bin/pip" download --quiet --no-deps --no-binary :all: --no-build-isolation --dest "$source" "horovod==$version"
tar -xzf "$source/horovod-$version.tar.gz" -C "$source"
for file in CMakeLists.txt horovod/torch/CMakeLists.txt; do
    sed -i -e 's/-std=c++1[147]/-std=c++20/g' -e 's/CMAKE_CXX_STANDARD 1[147]/CMAKE_CXX_STANDARD 20/g' "$source/horovod-$version/$file"
done
PATH="$target/bin:$PATH" MAKEFLAGS="-j$(nproc)" HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 \
    HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 HOROVOD_CPU_OPERATIONS=GLOO \
    "$target/bin/pip" install --no-build-isolation --no-deps "$source/horovod-$version" > "$target/build.log" 2>&1 \
    || { tail -40 "$target/build.log"; echo "Horovod could not be built; all of it is in $target/build.log"; exit 1; }
"$target/bin/python" -c 'import horovod.torch'
touch "$stamp"
