// The company's log-in service of the tests: oidc-provider (certified), over HTTP on loopback, with people in its memory.
//   node provider.mjs REDIRECT_URI CLIENT_SECRET
// Its first line says where it listens. POST /control {…} changes what it does from now on:
//   alg: new keys of this kind; people: {name: {groups, claims}}; forge: {claims} or {alg} of every ID token; inIdToken.
import { createServer } from 'node:http';
import { createPublicKey } from 'node:crypto';
import { Provider } from 'oidc-provider';
import { exportJWK, generateKeyPair, SignJWT, decodeJwt, importJWK } from 'jose';

const [redirectUri, clientSecret] = process.argv.slice(2);
const state = { alg: 'RS256', people: {}, forge: null, inIdToken: false, keys: 0 };
let issuer;
let key;
let provider;

async function make() {
  const options = { extractable: true, ...(state.alg === 'EdDSA' ? { crv: 'Ed25519' } : {}) };
  const { privateKey } = await generateKeyPair(state.alg, options);
  state.keys += 1;
  key = { ...(await exportJWK(privateKey)), kid: `key-${state.keys}`, alg: state.alg, use: 'sig' };
  provider = new Provider(issuer, {
    jwks: { keys: [key] },
    cookies: { keys: ['of the tests'] },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'EdDSA'] },
    clients: [
      {
        client_id: 'fermi',
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        post_logout_redirect_uris: [redirectUri.replace('oidc/callback', '')],
        id_token_signed_response_alg: state.alg,
      },
    ],
    pkce: { required: () => true },
    scopes: ['openid', 'profile', 'groups'],
    claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
    conformIdTokenClaims: !state.inIdToken,
    features: { devInteractions: { enabled: true }, userinfo: { enabled: true } },
    // Whoever logs in has agreed.
    async loadExistingGrant(ctx) {
      const grant = new ctx.oidc.provider.Grant({
        clientId: ctx.oidc.client.clientId,
        accountId: ctx.oidc.session.accountId,
      });
      grant.addOIDCScope('openid profile groups');
      await grant.save();
      return grant;
    },
    findAccount(_, id) {
      const person = state.people[id] ?? {};
      const claims = { sub: id, preferred_username: id, groups: person.groups ?? [], ...person.claims };
      return { accountId: id, claims: () => claims };
    },
  });
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.path === '/token' && ctx.body?.id_token && state.forge) {
      ctx.body.id_token = await forged(ctx.body.id_token);
    }
  });
}

const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

async function forged(token) {
  const claims = { ...decodeJwt(token), ...state.forge.claims };
  switch (state.forge.alg) {
    case 'none':
      return `${part({ alg: 'none' })}.${part(claims)}.`;
    // Signed with what everyone knows, as if it were a secret of two.
    case 'HS256': {
      const known = createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
      return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: key.kid }).sign(Buffer.from(known));
    }
    default:
      return new SignJWT(claims)
        .setProtectedHeader({ alg: state.alg, kid: key.kid })
        .sign(await importJWK(key, state.alg));
  }
}

async function control(request, response) {
  let body = '';
  for await (const piece of request) body += piece;
  const change = JSON.parse(body);
  Object.assign(state, change);
  if (change.alg || 'inIdToken' in change) await make();
  response.end('{}');
}

const server = createServer((request, response) => {
  if (request.url === '/control') return void control(request, response);
  provider.callback()(request, response);
});
server.listen(0, '127.0.0.1', async () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  await make();
  console.log(issuer);
});
