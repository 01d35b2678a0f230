package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// compareCertificate proves that a certificate says what the proved entry says. A purchase's file has no
// record.
//
// The time is not compared: a record that was dated anew, after its chain was rolled back, keeps its first
// date in the log. Project, serial numbers, reason and period are not in the log.
func compareCertificate(text []byte, entry, checkpoint string) error {
	// Maps: a structure would take a name in another case for the same.
	certificate, err := decode(text)
	if err != nil {
		return err
	}
	record, isCertificate := certificate["record"].(map[string]any)
	if !isCertificate {
		return nil
	}
	logged, err := decode([]byte(entry))
	if err != nil {
		return err
	}
	for _, name := range []string{"amount", "index", "retiredBy", "tokenAddress", "beneficiary", "note"} {
		// A long text is in the log as its SHA-256.
		digest := sha256.Sum256([]byte(fmt.Sprint(record[name])))
		if record[name] != logged[name] && logged[name+"Sha256"] != hex.EncodeToString(digest[:]) {
			return differs(name)
		}
	}
	if !isSameAmount(record["tonnes"], logged["amount"]) {
		return differs("tonnes")
	}
	network, _ := certificate["network"].(map[string]any)
	if !isSameNetwork(fmt.Sprint(network["networkId"]), networkIn(checkpoint)) {
		return differs("network")
	}
	return nil
}

func decode(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	err := decoder.Decode(&object)
	return object, err
}

func differs(name string) error {
	return fmt.Errorf("the certificate has another %s than the log", name)
}

// isSameAmount compares tonnes, which people read, with base units: 10^18 are a tonne.
func isSameAmount(tonnes, units any) bool {
	whole, isNumber := new(big.Rat).SetString(fmt.Sprint(tonnes))
	amount, isInteger := new(big.Int).SetString(fmt.Sprint(units), 10)
	if !isNumber || !isInteger {
		return false
	}
	tonne := new(big.Int).Exp(big.NewInt(10), big.NewInt(18), nil)
	return whole.Cmp(new(big.Rat).SetFrac(amount, tonne)) == 0
}

// networkIn is the line after the root of a checkpoint, which is signed.
func networkIn(checkpoint string) string {
	lines := strings.SplitN(checkpoint, "\n", 5)
	if len(lines) < 5 {
		return ""
	}
	return strings.TrimPrefix(lines[3], "network ")
}

// isSameNetwork knows that an id may go on after a colon, with the hash of the chain's first block.
func isSameNetwork(one, other string) bool {
	return strings.HasPrefix(one+":", other+":") || strings.HasPrefix(other+":", one+":")
}
