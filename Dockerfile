# One static program in an image without anything else. The target weirlab is an image
# with the simulated providers and the demonstration beside it:
#
#   docker build --target weirlab -t weirlab . && docker run weirlab demo
#
#   docker build --build-arg VERSION="$(git describe --tags --always)" --build-arg REVISION="$(git rev-parse HEAD)" -t weir .
#   docker run -p 8080:8080 -v weir:/data -e WEIR_API_TOKENS=… weir
#
# Without WEIR_API_TOKENS, or a token of weir token create, it refuses to start: it
# listens on every interface.

# A release pins both images by their digests: --build-arg GO_IMAGE=golang:1.26@sha256:… --build-arg BASE_IMAGE=….
ARG GO_IMAGE=golang:1.26
ARG BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/ ./cmd/weir ./cmd/weirlab
# A volume takes the owner of the folder that it covers.
RUN mkdir -p /out/data && cp LICENSE /out/ && scripts/third-party >/out/THIRD_PARTY

FROM ${BASE_IMAGE} AS weirlab
COPY --from=build /out/weir /out/weirlab /out/LICENSE /out/THIRD_PARTY /
USER 65532:65532
STOPSIGNAL SIGTERM
ENTRYPOINT ["/weirlab"]

FROM ${BASE_IMAGE}
ARG VERSION=devel REVISION=
LABEL org.opencontainers.image.title="weir" \
      org.opencontainers.image.description="A durable contact broker" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/weir /out/LICENSE /out/THIRD_PARTY /
COPY --from=build --chown=65532:65532 /out/data /data
ENV DATABASE_URL=sqlite:///data/weir.db LISTEN_ADDR=0.0.0.0:8080
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 CMD ["/weir", "healthcheck"]
ENTRYPOINT ["/weir"]
CMD ["serve"]
