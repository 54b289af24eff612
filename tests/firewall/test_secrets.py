"""Secrets are found in what people and programs write; what only looks like one is left alone."""

from __future__ import annotations

import random
import string

import pytest

from benchmarks.firewall import Maker
from tables import each
from vestig.firewall import RULES, SecretError, counted, masked_text, without_secrets

_ALNUM = string.ascii_letters + string.digits
# of no vendor, put together here so that no scanner of repositories takes one for a key
_BODY = "9fK2mQ7xLw3Zt8RbV5nYc1Hd6Js4Gp0A"
_UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

SECRETS = [
    # English, German, French
    ("The password of the router is Kx9!mmQ2, I think.", "Kx9!mmQ2"),
    ("Our Wi-Fi password was changed to lantern-77-Fox!", "lantern-77-Fox!"),
    ("Das Passwort für den Staging-Server lautet Regen2031!", "Regen2031!"),
    ("Mein Kennwort ist jetzt Blau#Segel9.", "Blau#Segel9"),
    ("Passwort: Fjord_1984", "Fjord_1984"),
    ("Le mot de passe du serveur est Chouette!42", "Chouette!42"),
    ("Mot de passe : Rivage77x", "Rivage77x"),
    (f"Der API-Schlüssel für den Wetterdienst ist {_BODY}", _BODY),
    (f"La clé API du service est {_BODY}.", _BODY),
    (f"Schlüssel: {_BODY}", _BODY),
    ("Lizenzschlüssel: hafen-77-segel", "hafen-77-segel"),
    ("Der WLAN-Schlüssel ist hafen-77-segel", "hafen-77-segel"),
    (f"Ключ API: {_BODY}", _BODY),
    ("Секретный ключ: гавань-77-парус", "гавань-77-парус"),
    ("Log in with the password Tulpe2031! until Monday.", "Tulpe2031!"),
    ("Nimm am Steg das Passwort regen77Bogen, nicht das alte.", "regen77Bogen"),
    ("password: hunter2", "hunter2"),
    # spaces that do not break
    ("Mot de passe\u00a0: Rivage77x", "Rivage77x"),
    ("パスワード\uff1a\u3000Rivage77x", "Rivage77x"),
    # files and code
    ("DB_PASSWORD=s3cr3t-harbor", "s3cr3t-harbor"),
    ('export SMTP_PASS="blue!tulip"', "blue!tulip"),
    ('{"user": "ada", "password": "correcthorse"}', "correcthorse"),
    ("database:\n  user: ada\n  password: 'Tr0ub4dor&3'\n", "Tr0ub4dor&3"),
    (f'client = Client(api_key="{_BODY}")', _BODY),
    (f"const authToken = '{_BODY}';", _BODY),
    (f'private static final String SECRET_KEY = "{_BODY}";', _BODY),
    ("- name: DB_PASSWORD\n  value: w1nter.sea", "w1nter.sea"),
    ("<password>Maven4Ever</password>", "Maven4Ever"),
    ("spring.datasource.password=Qw3rtyUiop", "Qw3rtyUiop"),
    ("Server=db;Database=x;Uid=sa;Pwd=Str0ng.Pass;Encrypt=true", "Str0ng.Pass"),
    (f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={_BODY}{_BODY}==", _BODY),
    # places
    ("postgres://ada:p4ssw0rdX@db.harbor.net:5432/app", "p4ssw0rdX"),
    ("redis://:hunter2x9@cache:6379/0", "hunter2x9"),
    ("amqp://user:with/slash@queue/vhost", "with/slash"),
    ("curl -u ada:Tulip99 https://api.harbor.net/v1", "Tulip99"),
    ("mysql -u root -pBoat2031x shop", "Boat2031x"),
    (f"Authorization: Basic {_BODY}==", _BODY),
    (f"-H 'X-Api-Key: {_BODY}'", _BODY),
    (f"https://api.harbor.net/v1?page=2&access_token={_BODY}&sort=asc", _BODY),
    # a token that says so, or stands behind a word that does
    (f"For staging use hbr_secret_{_BODY} until Friday.", f"hbr_secret_{_BODY}"),
    (f"2031-03-01 WARN retry with token {_BODY} failed", _BODY),
    ("log in to github with the key " + _BODY[:16], _BODY[:16]),
    ("password: Kontrol+9x!", "Kontrol+9x!"),
    ("license key: VK7JG-NPHTM-C97JM-9MPGT-3V66T", "VK7JG-NPHTM-C97JM-9MPGT-3V66T"),
    (f"arn:aws:iam::123456789012:user/ada has the token {_BODY}", _BODY),
    # what has the shape of an identifier is one behind a name that means something else too
    (f"HARBOR_API_KEY={_UUID}", _UUID),
    (f"HARBOR_TOKEN={_UUID}", _UUID),
    (f"access_token: {_UUID}", _UUID),
    (f"Authorization: Bearer {_UUID}", _UUID),
    ("api key: 507f1f77bcf86cd799439011", "507f1f77bcf86cd799439011"),
    ("client_secret: harbor-prod-2026", "harbor-prod-2026"),
    ("password = WAY-1200", "WAY-1200"),
    (f"session_key={_BODY}", _BODY),
    ("WLAN-Passwort: 49271836450192837465", "49271836450192837465"),
    ("The wifi password is 49271836450192837465", "49271836450192837465"),
    ("api_key=49271836450192837465", "49271836450192837465"),
    ("recovery key: 123456-234567-345678-456789", "123456-234567-345678-456789"),
    ("the api key 507f1f77bcf86cd799439011", "507f1f77bcf86cd799439011"),
    ("password: i-0abc1234", "i-0abc1234"),
    (f"curl -H 'X-Vault-Token: {_UUID}' https://vault", _UUID),
    (f"X-Harbor-Server-Token: {_UUID}", _UUID),
    ("X-Harbor-Key: tulip-harbor-2024", "tulip-harbor-2024"),
    (f"refresh token: {_UUID}", _UUID),
    (f"bearer token: {_UUID}", _UUID),
    (f"SESSION_KEY={_UUID}", _UUID),
    (f"with:\n  token: {_UUID}\n  verbose: true", _UUID),
    (f"https://dns.harbor.net/update?token={_UUID}", _UUID),
    # of a shape that other things have too, where its name means nothing else
    ("password: SiO2-Al2O3-Fe2O3", "SiO2-Al2O3-Fe2O3"),
    ("The password of the lab is SiO2-Al2O3-Fe2O3", "SiO2-Al2O3-Fe2O3"),
    ("client_secret: NaCl2-CuSO4-Fe2O3", "NaCl2-CuSO4-Fe2O3"),
    ("credentials: ada / D-PL-11120-01-00x", "D-PL-11120-01-00x"),
    # behind a sign or a letter that is no Latin one
    ("the “token” is Kx9!mmQ2vB", "Kx9!mmQ2vB"),
    ("é-token: Kx9!mmQ2vB", "Kx9!mmQ2vB"),
    # the keys of networks
    ("WLAN-Netzwerkschlüssel: 49271836450192837465", "49271836450192837465"),
    ("Netzwerksicherheitsschlüssel: hafen77segel", "hafen77segel"),
    ("Router-Schlüssel: hafen2031x", "hafen2031x"),
    ("Der Schlüssel für das WLAN ist hafen-77-segel", "hafen-77-segel"),
    ("Ключ от wifi: gavan-77-parus", "gavan-77-parus"),
    # whose it is, and then what it is
    ("The password belongs to the router: Kx9!mmQ2", "Kx9!mmQ2"),
    ("The password given to the router is Kx9!mmQ2", "Kx9!mmQ2"),
    ("We changed the password of the router to Kx9!mmQ2", "Kx9!mmQ2"),
    # said by the next speaker
    ("Ada: What is the password of the staging database?\nBo: Kx9!mmQ2", "Kx9!mmQ2"),
    ("Ada: What's the password for staging?\nBo: It is Kx9!mmQ2.", "Kx9!mmQ2"),
    ("Ada: The password of the router?\nBo: Kx9!mmQ2", "Kx9!mmQ2"),
    ("Ada: Which password does crane-3 have?\nBo: it's Kx9!mmQ2", "Kx9!mmQ2"),
    ("Ada: whats the pw for staging\nBo: Kx9!mmQ2", "Kx9!mmQ2"),
    ("Ada: send me the password of the router\nBo: Kx9!mmQ2", "Kx9!mmQ2"),
    ("Ada: Wie lautet das Passwort für Staging?\nBo: Kx9!mmQ2", "Kx9!mmQ2"),
    ("Ada: if I want wifi, what is the password?\nBen: tulip77fox", "tulip77fox"),
    ("Ada: will you give me the password?\nBen: tulip77fox", "tulip77fox"),
    ("Ada: where is the password?\nBen: tulip77fox", "tulip77fox"),
    ("Ada: what's the password of the router? Thanks!\nBen: tulip77fox", "tulip77fox"),
    ("user: what's the router's password\nassistant: tulip77fox", "tulip77fox"),
    # a word that names references too, beside what a password opens or with what only one has
    ("La clave del wifi es perro88", "perro88"),
    ("Clave de acceso: perro-88", "perro-88"),
    ("Usuario: ana, clave: PERRO-88", "PERRO-88"),
    ("| usuario | clave |\n|---|---|\n| ana | PERRO-88 |", "PERRO-88"),
    ("Clave: perro88", "perro88"),
    ("La clave de la caja es Perro!88x", "Perro!88x"),
    ("user: ada, pass: TULIP-77", "TULIP-77"),
    ("user: ada\npass: TULIP-77\n", "TULIP-77"),
    ('{"user": "ada", "pass": "TULIP-77"}', "TULIP-77"),
    ("DB_PASS=TULIP-77", "TULIP-77"),
    ("The access code is HX7-991-ZQ", "HX7-991-ZQ"),
    ("WiFi şifresi: güneş-26", "güneş-26"),
    # words of other languages that name nothing else
    ("Şifre: Güneş#2026!", "Güneş#2026!"),
    ("WiFi şifresi Güneş#2026!", "Güneş#2026!"),
    ("كلمة المرور: Nakhl#2026!", "Nakhl#2026!"),
    ("كلمة السر هي Nakhl#2026!", "Nakhl#2026!"),
    ("Ｐａｓｓｗｏｒｄ： Sakura#2026!", "Sakura#2026!"),  # noqa: RUF001
    ("Passord: Fjord#77x", "Fjord#77x"),
    ("Adgangskode: Fjord#77x", "Fjord#77x"),
    ("Salasana: Kesä#77x", "Kesä#77x"),
    ("Jelszó: Duna#77x", "Duna#77x"),
    ("Lozinka: More#77x", "More#77x"),
    ("Palavra-passe: Praia#77x", "Praia#77x"),
    # who logs in, and with what
    ("usuario juan clave sol2024", "sol2024"),
    ("user juan, pass sol2024", "sol2024"),
    ("Benutzer anna, Passwort Sonne22", "Sonne22"),
    ("utilisateur jean / mot de passe soleil22", "soleil22"),
    ("usuário joão e senha sol2024", "sol2024"),
    ("gebruiker jan en wachtwoord zon2024", "zon2024"),
    ("utente mario con password sole2024", "sole2024"),
    ("Netflix login: ana@harbor.org / Tr0mpeta!22", "Tr0mpeta!22"),
    # of a service, behind a word that names references too
    ("The pass for Netflix is hunter22!", "hunter22!"),
    ("pass for Spotify: hunter22", "hunter22"),
    ("La clave de Netflix es trompeta22", "trompeta22"),
    # numbers that open what is named
    ("Losung Tresor: 48-17-92", "48-17-92"),
    ("Le mot de passe du coffre est 48 17 92.", "48 17 92"),
    ("Passwort vom Tresor: 481792", "481792"),
    ("La clave de la caja fuerte es 48-17-92", "48-17-92"),
    ("Het wachtwoord van de deur is 4821.", "4821"),
    ("The access code for the alarm is 7731#", "7731#"),
    ("El código de acceso del garaje es 4821#", "4821#"),
    ("Code d'accès du portail : 4821B", "4821B"),
    ("Der Zugangscode für den Tresor lautet 48-17-92", "48-17-92"),
    ("The PIN of the card is 4821, keep it", "4821"),
    ("The card's PIN is 4821", "4821"),
    ("El PIN de la tarjeta es 4821.", "4821"),
    ("Le code PIN de la carte est 4821", "4821"),
    ("De pincode van de bankpas is 4821", "4821"),
    ("Die Geheimzahl der Karte lautet 4821", "4821"),
    # access codes
    ("code d'accès : HX7#991x", "HX7#991x"),
    ("toegangscode: 4821#AB", "4821#AB"),
    # over lines
    (f"Here is the token:\n\n{_BODY}\n\nKeep it.", _BODY),
    (f"## Token\n```\n{_BODY}\n```", _BODY),
    ("Username\nada\nPassword\nRivage77x", "Rivage77x"),
]

HARMLESS = [
    "The password policy requires 12 characters and one digit.",
    "Das Passwort muss mindestens 12 Zeichen haben.",
    "Le mot de passe doit contenir 8 caractères.",
    "I forgot my password again, and the reset link has expired.",
    "The password Argon2id made is kept; the password PBKDF2-SHA256 made is not.",
    "Boarding pass LH2031Fra is printed; the password 12 people share is old.",
    'Das Kennwort der Kampagne ist "Frühling".',
    # the keys of doors, and clefs
    "Kellerschlüssel: Haken-3-Flur",
    "Der Schlüssel ist Müller/Weiß-2",
    "Violinschlüssel: G-Linie-2",
    "Notenschluessel: Tenorschlüssel-C4",
    "Ключ від церкви: №7-північ",
    "Ключ: скрипковий(соль)2",
    "IBAN DE89370400440532013000, Schlüssel: DE89370400440532013000",
    # references, behind words that name them and passwords
    "Clave de reserva: RES-2026-0417",
    "La clave de reserva es RES-2026-0417",
    "¿De quién es la clave RES-2026-0417?",
    "Clave: RES-2026-0417",
    "Clave de confirmación: HX7-991-ZQ",
    "Clave de producto: Ace-500-virgen",
    "Clave catastral: 9872023VH5797S0001WX",
    "Clave del artículo: 48-ab/77",
    "Clave del vídeo: dQw4w9WgXcQ",
    "Palabra clave: girasol77",
    '{"clave": "RES-2026-0417"}',
    "clave;producto\nRES-2026-0417;aceite",
    "Correo: ana@harbor.org\nClave: RES-2026-0417",
    "Boarding pass: HX7-991-ZQ, bus pass: RES-2026-0417",
    "Der Pass von Anna ist C01X00T47",
    "Losung der Woche: Freude#7",
    "Client code: CL-2026-AB7, service key: RES-2026-0417",
    "Registration code: HX7-991-ZQ",
    "Rezervasyon şifresi: HX7-991-ZQ",
    "Hasło przewodnie: Góry2026",
    "Parola chiave: Montagne2026",
    "حركة المرور: 2026-AB7, السر: 3A-2026",
    f"the nextPageToken: {_BODY}",
    "shortcut key: Ctrl+Alt+F7, access key: Alt+Shift+K",
    "S3 key: uploads/2026/03/7c10e7ef-a931-4dec-ab64-169ee61cb07a/photo-100251.jpg",
    "secret_arn: arn:aws:secretsmanager:eu-central-1:123456789012:secret:harbor/db-AbC12d",
    f"did:key:z6Mk{_BODY}, urn:example:token:{_BODY}",
    "key exchange: X25519MLKEM768, password protection: ZIP2.0",
    f"The token mint {_BODY} is on no list.",
    "Pass 2: 4m31s, the password is 30min old",
    "the security key Harbour-5C-NFC is in the drawer",
    f"the key account {_BODY[:21]} pays late",
    "fn of(token: &Token, tokens: &[Token]) -> u32 {",
    "redis key scan:MMX1:00340434161094042557 lives a day",
    "2026-03-02T09:15:00Z INFO consumer key=01HQ3ZK8V9X2M4N6P8R0T2W4Y6 partition=7",
    "auth failed for 507f1f77bcf86cd799439011",
    "API key of 507f1f77bcf86cd799439011 was revoked.",
    "Token 00340434161094042557 is a number of the token column.",
    "access token jti: 01HQ3ZK8V9X2M4N6P8R0T2W4Y6",
    "The access key belongs to db-prd-1.waybill.internal.",
    f"The access key belongs to {_UUID}.",
    "The API token was issued to svc-tracker-02.",
    "the token belongs to i-0123456789abcdef0",
    f"token: {_UUID}, key: {_UUID}",
    "| token | name |\n|---|---|\n| SCAN_IN_042 | in |\n| WAY-1187 | id |\n| +46701234567 | line |",
    "| token | name |\n|---|---|\n| RR473124829SE | parcel |\n| 00:1b:44:11:3a:b7 | card |",
    "| key | used by |\n|---|---|\n| tracker-api-7d9f8b6c5d-x2k4q | pod |",
    '{"session_key": "MMX1-evening"}',
    "Authorization: AWS4-HMAC-SHA256",
    "Ada: I rotated the password of crane-3\nBo: WAY-1204",
    "Ada: Who changed the password of crane-3?\nBo: Greg2",
    "Ada: Did you change the password of crane-3?\nBo: WAY-1204",
    "Ada: What is the password policy of staging?\nBo: Strict2024",
    "Ada: what happens when the password of the router expires?\nBo: MMX1-stop",
    "Ada: What is the password of the router? Ask Omar.\nBo: crane-3",
    "Ada: Which key does the consumer use?\nBo: WAY-1204",
    "Ada: Which token failed?\nBen: ci-token-42x",
    "Ada: what version has the password bug?\nBen: v2.3.1-rc1",
    "Ada: need the password changed on crane-3\nBen: crane-3-north?",
    f"2026-03-02 INFO retry token={_UUID} partition=7",
    "The secret is out: they moved to Oslo in 2019.",
    "The key to good bread is time, 24 hours at least.",
    # what stands behind the word is what the sentence is about
    "The secret key ingredient is SiO2-Al2O3-Fe2O3.",
    "The secret sauce is tar-77-Harbor, and its key figure is 48.50EUR/t.",
    "The secret of the glaze is Al2O3-CaO-SiO2.",
    "The credential of the auditor is D-PL-11120-01-00.",
    "Each token costs 0.002 cents; max_tokens: 4096.",
    "Passwords are hashed with argon2id since v2.1.",
    "fixed in commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "request 550e8400-e29b-41d4-a716-446655440000 took 3 s",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "see python/vestig/firewall.py and C:\\Users\\ada\\token3.db",
    'api_key = os.environ["HARBOR_API_KEY"]',
    "password: ${DB_PASSWORD}",
    "API_KEY=<your-key-here>",
    "token = get_token(user, retries=3)",
    "AWS_KEY=AKIAIOSFODNN7EXAMPLE",
    "postgres://user:password@localhost/app",
    "password: str | None = None",
    "primary key: user_id2; foreign key: order_id3",
    "AbstractSingletonProxyFactoryBean2 wraps it",
    "nginx-deployment-7d9c5b8f6-x2x4k was restarted",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + _BODY + _BODY[:11] + " ada@harbor",
    "-----BEGIN CERTIFICATE-----\n" + _BODY * 2 + "\n-----END CERTIFICATE-----",
]


@each(("text", "secret"), SECRETS)
def test_a_secret_is_masked_and_the_rest_stays(text: str, secret: str) -> None:
    masked, rules = masked_text(text)
    assert secret not in masked
    assert len(rules) == 1
    assert rules[0] in RULES
    before, after = masked.split(f"[secret:{rules[0]}]")
    assert text.startswith(before)
    assert text.endswith(after)
    assert masked_text(masked) == (masked, ())


@each("text", HARMLESS)
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    assert masked_text(text) == (text, ())


def test_every_secret_of_a_text_is_masked() -> None:
    text = f"password: Kx9!mmQ2\nkey: {_BODY}\npostgres://ada:Boat2031x@db/app"
    masked, rules = masked_text(text)
    assert masked.count("[secret:") == len(rules) == 3
    clean = without_secrets({"content": text}, "mask")
    assert [(one.rule, one.count) for one in counted(clean.secrets)] == [
        ("password", 1),
        ("key", 1),
        ("url", 1),
    ]


def test_a_private_key_is_one_marker() -> None:
    lines = "\n".join(_BODY * 2 for _ in range(8))
    for kind in ("RSA ", "OPENSSH ", "EC ", "ENCRYPTED ", ""):
        block = f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----"
        assert masked_text(f"Here:\n{block}\nDone") == (
            "Here:\n[secret:privatekey]\nDone",
            ("privatekey",),
        )
    cut = f"-----BEGIN PRIVATE KEY-----\n{lines}\n\nThat was it."
    assert masked_text(cut)[0] == "[secret:privatekey]\n\nThat was it."


@pytest.mark.parametrize("seed", range(3))
def test_recall_and_precision_on_texts_made_at_run_time(seed: int) -> None:
    secrets = Maker(seed).secrets(600)
    missed = [one for one in secrets if one.secret and one.secret in masked_text(one.text)[0]]
    assert len(missed) <= 0.02 * len(secrets), missed[:5]
    others = Maker(seed).look_alikes(600)
    false_alarms = [one for one in others if masked_text(one.text)[1]]
    assert len(false_alarms) <= 0.02 * len(others), false_alarms[:5]


@pytest.mark.parametrize("seed", range(2))
def test_masking_twice_changes_nothing(seed: int) -> None:
    made, chance = Maker(seed).secrets(400), random.Random(seed)
    for _ in range(200):
        text = chance.choice(("\n", " ", "; ", "")).join(one.text for one in chance.sample(made, 4))
        once = masked_text(text)[0]
        assert masked_text(once) == (once, ()), text


@pytest.mark.slow
@each(
    "unit",
    [
        "password=", "password is ", "sk-", "eyJ-", "a://b:", "-----BEGIN PRIVATE KEY-----", "x'",
        "ghp_", "curl -u ", "the key of the ", "Aa1-", "token: \"", "[secret:", "sl.---", "é=",
    ],
)  # fmt: skip
def test_a_long_text_made_to_slow_the_scanner_ends(unit: str) -> None:
    """A scanner that goes back would take hours for these."""
    text = unit * (1_000_000 // len(unit))
    masked, _ = masked_text(text)
    assert len(masked) <= 2 * len(text)


def test_values_are_read_with_their_names_at_any_depth() -> None:
    given = {
        "content": "plain text",
        "metadata": {"db": {"password": "tulip"}, "hosts": [f"token={_BODY}"], "n": 1},
        "claim": {"subject": "Ada", "evidence": f"key: {_BODY}"},
        "session_id": _BODY,
        "supersedes": ["mem_550e8400-e29b-41d4-a716-446655440000"],
    }
    clean = without_secrets(given, "mask")
    assert clean.arguments["metadata"] == {
        "db": {"password": "[secret:password]"},
        "hosts": ["token=[secret:token]"],
        "n": 1,
    }
    assert clean.arguments["claim"]["evidence"] == "key: [secret:key]"
    assert clean.arguments["session_id"] == _BODY
    assert clean.rules == ("password", "token", "key")
    assert without_secrets(given, "off").arguments == given


@pytest.mark.parametrize("field", ["key", "tags", "scope", "source"])
def test_names_may_not_hold_a_secret(field: str) -> None:
    secret = "ghp_" + _BODY + _BODY[:4]
    value: object = [secret] if field == "tags" else secret
    with pytest.raises(SecretError, match=rf"^{field}: .*\(github\)") as caught:
        without_secrets({"content": "x", field: value}, "mask")
    assert _BODY not in str(caught.value)


def test_reject_says_which_text_it_is() -> None:
    refused = without_secrets({"content": "password: Kx9!mmQ2"}, "reject")
    assert refused.refused == "password"
    with pytest.raises(SecretError, match=r"^title: .*\(password\)"):
        without_secrets({"content": "x", "title": "password: Kx9!mmQ2"}, "reject")


def test_texts_without_secrets_are_the_same_objects() -> None:
    metadata = {"a": ["b"]}
    assert without_secrets({"metadata": metadata}, "mask").arguments["metadata"] is metadata
    text = "\ud800 password: Kx9!mmQ2"
    assert masked_text(text) == (text, ())
