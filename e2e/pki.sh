# The test cluster's keys and certificates: source it, do not run it. ECDSA P-256, two days.

# openssl talks when all is well: shown only when it fails.
quietly() {
  local said
  said=$("$@" 2>&1) || { printf '%s\n' "$said" >&2; return 1; }
}

key() { quietly openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

# authority NAME: a CA, NAME.crt and NAME.key.
authority() {
  key "$1.key"
  openssl req -x509 -config "$pki_config" -extensions authority -key "$1.key" -out "$1.crt" -subj "/CN=$1" -days 2
}

# certificate CA NAME SUBJECT [EXTENSION...]: NAME.crt, signed by CA, and NAME.key.
certificate() {
  local ca=$1 name=$2 subject=$3
  shift 3
  key "$name.key"
  quietly openssl req -x509 -config "$pki_config" -extensions leaf -CA "$ca.crt" -CAkey "$ca.key" -key "$name.key" -out "$name.crt" -subj "$subject" -days 2 "${@/#/-addext=}"
}

# make_pki DIR: all a control plane needs, and two impostors: the right authority but another name, the right name but another authority.
make_pki() (
  umask 077
  mkdir -p "$1"
  cd "$1"
  pki_config=$PWD/openssl.cnf
  # A configuration of our own: a distribution's may add extensions, basicConstraints above all.
  printf '%s\n' '[req]' 'distinguished_name=dn' '[dn]' '[authority]' 'basicConstraints=critical,CA:TRUE' 'keyUsage=critical,keyCertSign,cRLSign' \
    'subjectKeyIdentifier=hash' '[leaf]' 'basicConstraints=critical,CA:FALSE' 'keyUsage=critical,digitalSignature' 'authorityKeyIdentifier=keyid' >"$pki_config"
  authority ca
  authority front-proxy-ca
  authority stranger-ca
  certificate ca apiserver /CN=kube-apiserver extendedKeyUsage=serverAuth \
    'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc'
  certificate ca admin /O=system:masters/CN=admin extendedKeyUsage=clientAuth
  certificate ca controller-manager /CN=system:kube-controller-manager extendedKeyUsage=clientAuth
  certificate front-proxy-ca front-proxy-client /CN=front-proxy-client extendedKeyUsage=clientAuth
  certificate front-proxy-ca other-client /CN=other-client extendedKeyUsage=clientAuth
  authority webhook-client-ca
  certificate webhook-client-ca webhook-client /CN=kube-apiserver extendedKeyUsage=clientAuth
  certificate stranger-ca stranger /CN=front-proxy-client extendedKeyUsage=clientAuth
  key service-account.key
  openssl pkey -in service-account.key -pubout -out service-account.pub
)
