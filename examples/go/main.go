// Verifies, without trusting the server, what its transparency logs say. Nothing of the product is used, and
// no cryptography is written here: the Go project's own packages for signed notes and tiles, and those of
// transparency.dev for proofs.
//
//	go run . retirement <address of the log> <verifier key> <leaf> [checkpoint file]
//	go run . proof <certificate, or answer of the API> <verifier key>
//	go run . growth <address of the API> <log> <verifier key> <checkpoint file>
//
// Keep the verifier key and the checkpoint file where the server's operator can't change them. The program
// prints what it verified as JSON.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const usage = "give one of: retirement <log> <key> <leaf> [checkpoint file] | proof <file> <key> | growth <api> <log> <key> <checkpoint file>"

func main() {
	result, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(result)
}

func run(arguments []string) (any, error) {
	command := ""
	if len(arguments) > 0 {
		command, arguments = arguments[0], arguments[1:]
	}
	switch count := len(arguments); {
	case command == "retirement" && count == 3:
		return verifyRetirement(arguments[0], arguments[1], arguments[2], "")
	case command == "retirement" && count == 4:
		return verifyRetirement(arguments[0], arguments[1], arguments[2], arguments[3])
	case command == "proof" && count == 2:
		return verifyProof(arguments[0], arguments[1])
	case command == "growth" && count == 4:
		return verifyGrowth(arguments[0], arguments[1], arguments[2], arguments[3])
	}
	return nil, errors.New(usage)
}

// openCheckpoint verifies the signature (C2SP signed-note) and reads what it is of (C2SP tlog-checkpoint).
func openCheckpoint(signed []byte, key string) (*log.Checkpoint, error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return nil, fmt.Errorf("the verifier key %q: %w", key, err)
	}
	// A log's key has the name of the log.
	checkpoint, _, _, err := log.ParseCheckpoint(signed, verifier.Name(), verifier)
	return checkpoint, err
}

// verifyRetirement proves inclusion and growth from the log's tiles.
func verifyRetirement(address, key, leafText, file string) (any, error) {
	leaf, err := strconv.ParseInt(leafText, 10, 64)
	if err != nil {
		return nil, err
	}
	signed, err := get(address + "/checkpoint")
	if err != nil {
		return nil, err
	}
	head, err := openCheckpoint(signed, key)
	if err != nil {
		return nil, err
	}
	size, root := int64(head.Size), tlog.Hash(head.Hash)
	if leaf < 0 || leaf >= size {
		return nil, fmt.Errorf("leaf %d: the log has %d leaves", leaf, size)
	}
	hashes := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, tiles{address})
	if file != "" {
		if err := isContinued(file, key, size, root, hashes); err != nil {
			return nil, err
		}
	}
	entry, err := readEntry(address, leaf, size)
	if err != nil {
		return nil, err
	}
	proof, err := tlog.ProveRecord(size, leaf, hashes)
	if err != nil {
		return nil, err
	}
	if err := tlog.CheckRecord(proof, size, root, leaf, tlog.RecordHash(entry)); err != nil {
		return nil, fmt.Errorf("leaf %d is not in the log: %w", leaf, err)
	}
	if file != "" {
		if err := os.WriteFile(file, signed, 0o644); err != nil {
			return nil, err
		}
	}
	return map[string]any{"leaf": leaf, "size": size, "retirement": json.RawMessage(entry)}, nil
}

// isContinued proves that the log only grew since the checkpoint in the file, if there is one.
func isContinued(file, key string, size int64, root tlog.Hash, hashes tlog.HashReader) error {
	kept, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	earlier, err := openCheckpoint(kept, key)
	if err != nil || earlier.Size == 0 {
		return err
	}
	if int64(earlier.Size) > size {
		return fmt.Errorf("the log has %d leaves, and had %d", size, earlier.Size)
	}
	proof, err := tlog.ProveTree(size, int64(earlier.Size), hashes)
	if err != nil {
		return err
	}
	if err := tlog.CheckTree(proof, size, root, int64(earlier.Size), tlog.Hash(earlier.Hash)); err != nil {
		return fmt.Errorf("the log was rewritten since the checkpoint of %d leaves: %w", earlier.Size, err)
	}
	return nil
}
