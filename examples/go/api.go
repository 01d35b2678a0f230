package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

// verifyProof proves, without the server, that the entry of a retirement or a purchase is in its log: from a
// certificate, which has to say the same, or from the answer of the API to a query of a purchase.
func verifyProof(file, key string) (any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	type subject struct {
		InclusionProof *struct {
			LeafIndex  uint64
			Entry      string
			Hashes     []string
			Checkpoint string
		}
	}
	var answer struct {
		subject
		Data struct{ Node subject }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	said := answer.Data.Node.InclusionProof
	if said == nil {
		said = answer.InclusionProof
	}
	if said == nil {
		return nil, fmt.Errorf("%s has no proof: ask again, a few seconds later", file)
	}
	head, err := openCheckpoint([]byte(said.Checkpoint), key)
	if err != nil {
		return nil, err
	}
	hashes, err := fromHex(said.Hashes)
	if err != nil {
		return nil, err
	}
	leafHash := rfc6962.DefaultHasher.HashLeaf([]byte(said.Entry))
	err = proof.VerifyInclusion(rfc6962.DefaultHasher, said.LeafIndex, head.Size, leafHash, hashes, head.Hash)
	if err != nil {
		return nil, fmt.Errorf("leaf %d is not in the log: %w", said.LeafIndex, err)
	}
	if err := compareCertificate(text, said.Entry, said.Checkpoint); err != nil {
		return nil, err
	}
	return map[string]any{"leaf": said.LeafIndex, "size": head.Size, "entry": json.RawMessage(said.Entry)}, nil
}

// verifyGrowth proves that a log only grew since the checkpoint in the file, by the API's consistencyProof.
func verifyGrowth(address, logName, key, file string) (any, error) {
	kept, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	earlier, err := openCheckpoint(kept, key)
	if err != nil {
		return nil, err
	}
	question, err := json.Marshal(map[string]any{
		"query": `query ($log: String!, $from: LeafNumber!) {
			consistencyProof(log: $log, fromTreeSize: $from) { hashes checkpoint } }`,
		// A log without entries proves nothing about a later head, so the program asks for the newest head alone.
		"variables": map[string]any{"log": logName, "from": max(1, earlier.Size)},
	})
	if err != nil {
		return nil, err
	}
	response, err := client.Post(address, "application/json", bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	text, err := read(response)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			ConsistencyProof *struct {
				Hashes     []string
				Checkpoint string
			}
		}
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	said := answer.Data.ConsistencyProof
	if said == nil {
		return nil, fmt.Errorf("the server has no proof: %v", answer.Errors)
	}
	later, err := openCheckpoint([]byte(said.Checkpoint), key)
	if err != nil {
		return nil, err
	}
	if earlier.Size == 0 {
		return map[string]any{"from": 0, "to": later.Size}, nil
	}
	hashes, err := fromHex(said.Hashes)
	if err != nil {
		return nil, err
	}
	err = proof.VerifyConsistency(rfc6962.DefaultHasher, earlier.Size, later.Size, hashes, earlier.Hash, later.Hash)
	if err != nil {
		return nil, fmt.Errorf("the log was rewritten since the checkpoint of %d leaves: %w", earlier.Size, err)
	}
	return map[string]any{"from": earlier.Size, "to": later.Size}, nil
}

func fromHex(texts []string) ([][]byte, error) {
	hashes := make([][]byte, 0, len(texts))
	for _, text := range texts {
		hash, err := hex.DecodeString(text)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, hash)
	}
	return hashes, nil
}
