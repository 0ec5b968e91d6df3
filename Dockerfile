# BASE may be given with a digest, for builds that can be repeated.
ARG BASE=debian:forky-slim

FROM ${BASE} AS build
# The database, cache and compression libraries are there because Drogon's CMake package asks for them; GoogleTest and RapidCheck
# because CMake configures the tests, which are not built here.
RUN apt-get update -q \
    && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends \
        cmake g++ mold ninja-build \
        libdrogon-dev libmariadb-dev libhiredis-dev libsqlite3-dev libpq-dev libbrotli-dev uuid-dev \
        libjsoncons-dev libsimdjson-dev prometheus-cpp-dev libcurl4-openssl-dev libssl-dev \
        libcli11-dev libyaml-cpp-dev libre2-dev \
        libgtest-dev libgmock-dev librapidcheck-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr \
    && cmake --build build/release --target berth \
    && DESTDIR=/out cmake --install build/release --strip
# The packages that own the libraries the program loads: their names carry a version and change with the base.
RUN ldd /out/usr/bin/berth | awk '$2 == "=>" {print $3}' > /tmp/libraries \
    && xargs realpath < /tmp/libraries > /tmp/paths \
    && xargs dpkg -S < /tmp/paths > /tmp/owners \
    && cut -d: -f1 /tmp/owners | sort -u > /out/packages

FROM ${BASE}
COPY --from=build /out/packages /tmp/packages
RUN apt-get update -q \
    && DEBIAN_FRONTEND=noninteractive xargs apt-get install -qy --no-install-recommends ca-certificates < /tmp/packages \
    && rm -rf /var/lib/apt/lists/* /tmp/packages \
    && groupadd --gid 65532 berth \
    && useradd --uid 65532 --gid 65532 --no-create-home --home-dir /run/berth --shell /usr/sbin/nologin berth \
    && install -d -o 65532 -g 65532 -m 0750 /run/berth
COPY --from=build /out/usr/bin/berth /usr/bin/berth
RUN ! ldd /usr/bin/berth | grep 'not found'
# Freed blocks of a size that a thread keeps at hand. Reviews that arrive together need more than the 16 that glibc has by itself.
ENV GLIBC_TUNABLES=glibc.malloc.tcache_count=127
# By number: Kubernetes' runAsNonRoot cannot judge a name.
USER 65532:65532
WORKDIR /run/berth
EXPOSE 9443 6443 8080 8081
ENTRYPOINT ["/usr/bin/berth"]
