# The gateway as a container: one static binary, started by nobody in particular.
#
#   docker build --build-arg VERSION=$(git describe --always --dirty --tags) -t iris .

# go.mod alone says which Go; an image that is older fetches that one.
FROM golang:1 AS build
ENV CGO_ENABLED=0 GOTOOLCHAIN=auto
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# Without paths, times and build ids: the same source gives the same bytes.
ARG VERSION=unknown
RUN go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X iris-gateway/server.version=${VERSION}" -o /gateway ./cmd/gateway

# Certificates, time zones and a user; no shell.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /gateway /gateway
USER 65532:65532
ENV PORT=8080
EXPOSE 8080
ENTRYPOINT ["/gateway"]
