package kerberos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// versionedKey is a key of a principal, with its version.
type versionedKey struct {
	types.EncryptionKey
	version int
}

// keys are the keys of one principal in a keytab file, the newest first.
type keys struct {
	file  string
	owner principal
	list  []versionedKey
}

// readKeys reads the keys of a principal. principal is without a realm if the default realm
// is meant.
func readKeys(file, owner string, cfg *config.Config) (*keys, error) {
	p, err := parsePrincipal(owner, cfg.LibDefaults.DefaultRealm)
	if err != nil {
		return nil, err
	}
	var table *keytab.Keytab
	if err := guard("keytab "+file, func() (err error) {
		table, err = keytab.Load(file)
		return err
	}); err != nil {
		return nil, fmt.Errorf("%w: keytab %s: %w", ErrCredentials, file, err)
	}
	k := &keys{file: file, owner: p}
	var others []string
	for _, e := range table.Entries {
		if e.Principal.Realm != p.realm || !slices.Equal(e.Principal.Components, p.name.NameString) {
			others = append(others, e.Principal.String())
			continue
		}
		if _, err := crypto.GetEtype(e.Key.KeyType); err == nil {
			k.list = append(k.list, versionedKey{e.Key, int(e.KVNO)})
		}
	}
	if len(k.list) == 0 {
		slices.Sort(others)
		return nil, fmt.Errorf("%w: keytab %s has no key of %s, but of %s", ErrCredentials, file, p, strings.Join(slices.Compact(others), ", "))
	}
	slices.SortStableFunc(k.list, func(a, b versionedKey) int { return b.version - a.version })
	return k, nil
}

// types are the encryption types in list of which there is a key.
func (k *keys) types(list []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(list), func(id int32) bool {
		_, ok := k.find(id, 0)
		return !ok
	})
}

// find finds a key. Version 0 is the newest version.
func (k *keys) find(encryptionType int32, version int) (versionedKey, bool) {
	at := slices.IndexFunc(k.list, func(key versionedKey) bool {
		return key.KeyType == encryptionType && (version == 0 || key.version == version)
	})
	if at < 0 {
		return versionedKey{}, false
	}
	return k.list[at], true
}

// logIn gets a ticket-granting ticket with a key of the keytab: the AS exchange of RFC 4120.
func (l *Login) logIn(ctx context.Context, cfg *config.Config, k *keys) (*ticket, error) {
	request, err := messages.NewASReqForTGT(k.owner.realm, cfg, k.owner.name)
	if err != nil {
		return nil, err
	}
	if request.ReqBody.EType = k.types(cfg.LibDefaults.DefaultTktEnctypeIDs); len(request.ReqBody.EType) == 0 {
		return nil, fmt.Errorf("%w: keytab %s has no key of %s of a type in default_tkt_enctypes: export the keytab again, with aes256-cts-hmac-sha1-96",
			ErrCredentials, k.file, k.owner)
	}
	used := k.list[0]
	// The first request tells the type of the key that the KDC wants proved.
	for range 2 {
		bytes, err := request.Marshal()
		if err != nil {
			return nil, err
		}
		reply, err := l.send(ctx, cfg, k.owner.realm, bytes)
		var e messages.KRBError
		switch {
		case err == nil:
			return openLogin(reply, k, &request, cfg)
		case !errors.As(err, &e):
			return nil, err
		case e.ErrorCode != errorcode.KDC_ERR_PREAUTH_REQUIRED || len(request.PAData) > 0:
			return nil, refused(e, k.owner.String(), "krbtgt/"+k.owner.realm, fmt.Sprintf("the key in keytab %s (version %d)", k.file, used.version))
		}
		if used, err = k.chooseKey(e.EData); err != nil {
			return nil, err
		}
		if request.PAData, err = proveKey(used); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: the KDC of realm %s asks for the key of %s again and again", ErrCredentials, k.owner.realm, k.owner)
}

// chooseKey finds a key of a type that a KDC lists in an error (PREAUTH_REQUIRED).
func (k *keys) chooseKey(data []byte) (versionedKey, error) {
	var list []int32
	err := guard("the KDC's list of encryption types", func() error {
		var methods types.PADataSequence
		if err := methods.Unmarshal(data); err != nil {
			return err
		}
		for _, m := range methods {
			if m.PADataType != patype.PA_ETYPE_INFO2 {
				continue
			}
			entries, err := m.GetETypeInfo2()
			if err != nil {
				return err
			}
			for _, e := range entries {
				list = append(list, e.EType)
			}
		}
		return nil
	})
	if err != nil {
		return versionedKey{}, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	for _, id := range k.types(list) {
		key, _ := k.find(id, 0)
		return key, nil
	}
	return versionedKey{}, fmt.Errorf("%w: the KDC wants a key of %s of type %v, which keytab %s does not have: export the keytab again", ErrCredentials, k.owner, list, k.file)
}

// proveKey encrypts the time with a key, which shows the KDC that the client has the key.
func proveKey(key versionedKey) (types.PADataSequence, error) {
	now, err := types.GetPAEncTSEncAsnMarshalled()
	if err != nil {
		return nil, err
	}
	sealed, err := crypto.GetEncryptedData(now, key.EncryptionKey, keyusage.AS_REQ_PA_ENC_TIMESTAMP, key.version)
	if err != nil {
		return nil, err
	}
	bytes, err := sealed.Marshal()
	return types.PADataSequence{{PADataType: patype.PA_ENC_TIMESTAMP, PADataValue: bytes}}, err
}

// openLogin decrypts and checks a reply to request.
func openLogin(bytes []byte, k *keys, request *messages.ASReq, cfg *config.Config) (*ticket, error) {
	var reply messages.ASRep
	var part messages.EncKDCRepPart
	err := guard("the reply of the KDC", func() error {
		if err := reply.Unmarshal(bytes); err != nil {
			return err
		}
		key, ok := k.find(reply.EncPart.EType, reply.EncPart.KVNO)
		if !ok {
			return fmt.Errorf("the KDC has used version %d of the key of %s, which keytab %s does not have: export the keytab again",
				reply.EncPart.KVNO, k.owner, k.file)
		}
		plain, err := crypto.DecryptEncPart(reply.EncPart, key.EncryptionKey, keyusage.AS_REP_ENCPART)
		if err != nil {
			return fmt.Errorf("keytab %s has another key of %s than the KDC: export the keytab again: %w", k.file, k.owner, err)
		}
		return part.Unmarshal(plain)
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	if err := checkReply(part, request.ReqBody.Nonce, part.AuthTime, cfg.LibDefaults.Clockskew); err != nil {
		return nil, err
	}
	got := principal{reply.CName, reply.CRealm}
	if !got.equal(k.owner) || !part.SName.Equal(request.ReqBody.SName) || !reply.Ticket.SName.Equal(request.ReqBody.SName) {
		return nil, fmt.Errorf("%w: the KDC has issued a ticket of %s for %s to %s",
			ErrCredentials, got, part.SName.PrincipalNameString(), k.owner)
	}
	return newTicket(got, reply.Ticket, part), nil
}
