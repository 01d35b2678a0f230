package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// tileHeight is that of C2SP tlog-tiles: 256 hashes a tile.
const tileHeight = 8

// maxAnswerBytes is beyond the largest tile: 256 entries, each with a length of two bytes.
const maxAnswerBytes = 256 * (2 + 1<<16)

var client = &http.Client{Timeout: 30 * time.Second}

// tiles reads hashes; package tlog checks them against the root before it uses them.
type tiles struct{ address string }

func (t tiles) Height() int { return tileHeight }

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	read := make([][]byte, 0, len(wanted))
	for _, tile := range wanted {
		hashes, err := get(t.address + "/" + pathOf(tile))
		if err != nil {
			return nil, err
		}
		read = append(read, hashes)
	}
	return read, nil
}

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

// pathOf is C2SP's path. Go's own checksum database names the height as well, and calls entries data.
func pathOf(tile tlog.Tile) string {
	path := strings.TrimPrefix(tile.Path(), fmt.Sprintf("tile/%d/", tileHeight))
	return "tile/" + strings.Replace(path, "data/", "entries/", 1)
}

// readEntry reads what a leaf is the hash of: in a tile of entries, each follows its length in two bytes.
func readEntry(address string, leaf, size int64) ([]byte, error) {
	number := leaf >> tileHeight
	width := int(min(1<<tileHeight, size-number<<tileHeight))
	entries, err := get(address + "/" + pathOf(tlog.Tile{H: tileHeight, L: -1, N: number, W: width}))
	if err != nil {
		return nil, err
	}
	for skip := leaf - number<<tileHeight; ; skip-- {
		if len(entries) < 2 || len(entries) < 2+int(binary.BigEndian.Uint16(entries)) {
			return nil, fmt.Errorf("the tile of entries ends before leaf %d", leaf)
		}
		end := 2 + int(binary.BigEndian.Uint16(entries))
		if skip == 0 {
			return entries[2:end], nil
		}
		entries = entries[end:]
	}
}

func get(address string) ([]byte, error) {
	response, err := client.Get(address)
	if err != nil {
		return nil, err
	}
	return read(response)
}

func read(response *http.Response) ([]byte, error) {
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", response.Request.URL, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
}
