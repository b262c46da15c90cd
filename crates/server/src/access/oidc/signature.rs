//! A JSON Web Token and who has signed it. Only signatures with a public key are taken: RS256, ES256, EdDSA.

use data_encoding::BASE64URL_NOPAD;
use fermi_domain::access::oidc::{IdClaims, IdTokenFault};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::{Map, Value};

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A token whose signature has not been looked at.
#[derive(Debug)]
pub struct SignedToken {
    pub algorithm: Algorithm,
    /// Which of the keys, if it says so.
    pub key: Option<String>,
    signed: Vec<u8>,
    signature: Vec<u8>,
    claims: IdClaims,
}

impl SignedToken {
    pub fn read(token: &str) -> Result<Self, IdTokenFault> {
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(IdTokenFault::Shape);
        };
        let fields = object(header)?;
        let name = fields.get("alg").and_then(Value::as_str).unwrap_or("none");
        let algorithm = Algorithm::named(name).ok_or_else(|| {
            IdTokenFault::Algorithm(name.chars().take(20).collect::<String>().escape_debug().to_string())
        })?;
        // What must be understood, and is not.
        if fields.contains_key("crit") {
            return Err(IdTokenFault::Shape);
        }
        Ok(Self {
            algorithm,
            key: fields.get("kid").and_then(Value::as_str).map(str::to_owned),
            signed: format!("{header}.{claims}").into_bytes(),
            signature: bytes(signature)?,
            claims: IdClaims(object(claims)?),
        })
    }

    /// What it says, if this key has signed it.
    pub fn opened_by(&self, key: &PublicKey) -> Option<&IdClaims> {
        let verified = match (&key.material, self.algorithm) {
            (KeyMaterial::Rsa { n, e }, Algorithm::Rs256) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, &self.signed, &self.signature)
            }
            (KeyMaterial::P256 { point }, Algorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(&self.signed, &self.signature)
            }
            (KeyMaterial::Ed25519 { x }, Algorithm::EdDsa) => {
                UnparsedPublicKey::new(&ED25519, x).verify(&self.signed, &self.signature)
            }
            _ => return None,
        };
        verified.is_ok().then_some(&self.claims)
    }
}

/// A key of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    pub id: Option<String>,
    material: KeyMaterial,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum KeyMaterial {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256 { point: Vec<u8> },
    Ed25519 { x: Vec<u8> },
}

impl PublicKey {
    /// A key as the service lists it; none of one that signs nothing that is taken here.
    pub fn read(listed: &Value) -> Option<Self> {
        let text = |field: &str| listed.get(field).and_then(Value::as_str);
        let part = |field: &str| bytes(text(field)?).ok();
        let signs = text("use").is_none_or(|purpose| purpose == "sig");
        let is_taken = text("alg").is_none_or(|name| Algorithm::named(name).is_some());
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => KeyMaterial::Rsa { n: part("n")?, e: part("e")? },
            ("EC", Some("P-256")) => {
                // The form in which neither is packed.
                KeyMaterial::P256 { point: [vec![4], coordinate(part("x")?)?, coordinate(part("y")?)?].concat() }
            }
            ("OKP", Some("Ed25519")) => KeyMaterial::Ed25519 { x: part("x")? },
            _ => return None,
        };
        (signs && is_taken).then(|| Self { id: text("kid").map(str::to_owned), material })
    }
}

/// In 32 bytes; some leave zeros at the beginning out.
fn coordinate(bytes: Vec<u8>) -> Option<Vec<u8>> {
    let missing = 32_usize.checked_sub(bytes.len())?;
    Some([vec![0; missing], bytes].concat())
}

fn bytes(text: &str) -> Result<Vec<u8>, IdTokenFault> {
    BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| IdTokenFault::Shape)
}

fn object(text: &str) -> Result<Map<String, Value>, IdTokenFault> {
    serde_json::from_slice(&bytes(text)?).map_err(|_| IdTokenFault::Shape)
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
    use serde_json::json;

    use super::*;

    fn part(value: &Value) -> String {
        BASE64URL_NOPAD.encode(value.to_string().as_bytes())
    }

    fn signed(algorithm: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
        let body = format!("{}.{}", part(&json!({"alg": algorithm, "kid": "k"})), part(&json!({"sub": "u1"})));
        format!("{body}.{}", BASE64URL_NOPAD.encode(&sign(body.as_bytes())))
    }

    fn ed25519() -> (Ed25519KeyPair, PublicKey) {
        let random = SystemRandom::new();
        let pair = Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&random).unwrap().as_ref()).unwrap();
        let x = BASE64URL_NOPAD.encode(pair.public_key().as_ref());
        let key = PublicKey::read(&json!({"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "k"})).unwrap();
        (pair, key)
    }

    #[test]
    fn a_token_opens_with_the_key_that_has_signed_it_and_no_other() {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
        let point = pair.public_key().as_ref();
        let [x, y] = [&point[1..33], &point[33..]].map(|half| BASE64URL_NOPAD.encode(half));
        let key = PublicKey::read(&json!({"kty": "EC", "crv": "P-256", "x": x, "y": y, "use": "sig"})).unwrap();
        let token = signed("ES256", |body| pair.sign(&random, body).unwrap().as_ref().to_vec());
        let read = SignedToken::read(&token).unwrap();
        assert_eq!(read.key.as_deref(), Some("k"));
        assert_eq!(read.opened_by(&key).unwrap().subject().as_deref(), Some("u1"));
        let (of_another, another) = ed25519();
        assert_eq!(read.opened_by(&another), None);
        let token = signed("EdDSA", |body| of_another.sign(body).as_ref().to_vec());
        assert!(SignedToken::read(&token).unwrap().opened_by(&another).is_some());
        assert_eq!(SignedToken::read(&token).unwrap().opened_by(&ed25519().1), None);
        let (body, signature) = token.rsplit_once('.').unwrap();
        let forged = format!("{}.{}.{signature}", body.split('.').next().unwrap(), part(&json!({"sub": "root"})));
        assert_eq!(SignedToken::read(&forged).unwrap().opened_by(&another), None);
    }

    #[test]
    fn what_anyone_could_have_signed_is_not_read() {
        for name in ["none", "HS256", "HS512", "RS1", "ES384", "PS256", "", "rs256"] {
            let token = signed(name, |_| b"x".to_vec());
            assert!(matches!(SignedToken::read(&token), Err(IdTokenFault::Algorithm(_))), "{name}");
        }
        let critical = format!("{}.{}.AA", part(&json!({"alg": "RS256", "crit": ["x"]})), part(&json!({})));
        for token in ["", "a.b", "a.b.c", "a.b.c.d", "e30.e30.", "\u{0}", &critical, "W10.e30.AA"] {
            assert!(SignedToken::read(token).is_err(), "{token}");
        }
    }

    #[test]
    fn keys_that_sign_nothing_taken_here_are_passed_over() {
        for listed in [
            json!({"kty": "oct", "k": "AAAA"}),
            json!({"kty": "EC", "crv": "P-521", "x": "AA", "y": "AA"}),
            json!({"kty": "RSA", "n": "AA", "e": "AQAB", "use": "enc"}),
            json!({"kty": "RSA", "n": "AA", "e": "AQAB", "alg": "RSA-OAEP"}),
            json!({"kty": "RSA", "n": "A!", "e": "AQAB"}),
            json!({"kty": "RSA", "e": "AQAB"}),
            json!("key"),
            json!(null),
        ] {
            assert_eq!(PublicKey::read(&listed), None, "{listed}");
        }
    }
}
