from bridle.host.aws_signature import AwsCredentials, Scope, authorization
from tests.tables import table

CREDENTIALS = AwsCredentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
SCOPE = Scope("20150830T123600Z", "us-east-1", "service")
HOST = ("Host", "example.amazonaws.com")
DATE = ("X-Amz-Date", "20150830T123600Z")
UNRESERVED = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8"
    "YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6"
    "fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQ"
    "wj2ICCR/oLxBA=="
)
FORM = "application/x-www-form-urlencoded"
PUBLISHED: list[tuple[str, str, list[tuple[str, str]], bytes, str]] = [
    ("GET", "/", [HOST, DATE], b"", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    ("POST", "/", [HOST, DATE], b"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    ("GET", "/", [HOST, *(("My-Header1", f"value{n}") for n in (2, 2, 1)), DATE], b"",
     "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"),
    ("GET", "/", [HOST, *(("My-Header1", f"value{n}") for n in (4, 1, 3, 2)), DATE], b"",
     "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"),
    ("GET", "/", [HOST, ("My-Header1", " value1"), ("My-Header2", ' "a   b   c"'), DATE], b"",
     "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
    ("GET", f"/{UNRESERVED}", [HOST, DATE], b"",
     "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
    ("GET", "/ሴ", [HOST, DATE], b"", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
    ("GET", "/example space/", [HOST, DATE], b"",
     "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
    ("GET", "/?Param1=value2&Param1=Value1", [HOST, DATE], b"",
     "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"),
    ("GET", "/?Param2=value2&Param1=value1", [HOST, DATE], b"",
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
    ("GET", "/?Param1=value2&Param1=value1", [HOST, DATE], b"",
     "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"),
    ("GET", f"/?{UNRESERVED}={UNRESERVED}", [HOST, DATE], b"",
     "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
    ("POST", "/?Param1=value1", [HOST, DATE], b"",
     "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
    ("POST", "/", [HOST, ("My-Header1", "VALUE1"), DATE], b"",
     "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"),
    ("POST", "/", [("Content-Type", FORM), HOST, DATE], b"Param1=value1",
     "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
    ("POST", "/", [("Content-Type", f"{FORM}; charset=utf8"), HOST, DATE], b"Param1=value1",
     "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"),
    ("POST", "/", [HOST, DATE, ("X-Amz-Security-Token", TOKEN)], b"",
     "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
]  # fmt: skip
"""From Amazon's published test suite; paths with dots or doubled slashes, which are never asked, left out."""


@table(("method", "target", "headers", "body", "signature"), PUBLISHED)
def test_published_requests_get_their_published_signature(
    method: str, target: str, headers: list[tuple[str, str]], body: bytes, signature: str
):
    found = authorization(method, target, headers, body, credentials=CREDENTIALS, scope=SCOPE)
    assert found.endswith(f"Signature={signature}")
    assert found.startswith(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
    )


def test_a_path_that_is_quoted_already_is_quoted_once_more():
    once = authorization(
        "POST", "/model/a%3A0/invoke", [HOST, DATE], b"", credentials=CREDENTIALS, scope=SCOPE
    )
    twice = authorization(
        "POST", "/model/a:0/invoke", [HOST, DATE], b"", credentials=CREDENTIALS, scope=SCOPE
    )
    assert once != twice


def test_storage_signs_paths_as_they_are_sent_and_bodies_by_their_stated_digest():
    """An example of Amazon's documentation for S3."""
    found = authorization(
        "PUT",
        "/test%24file.text",
        [
            ("Date", "Fri, 24 May 2013 00:00:00 GMT"),
            ("Host", "examplebucket.s3.amazonaws.com"),
            ("x-amz-content-sha256", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"),
            ("x-amz-date", "20130524T000000Z"),
            ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ],
        b"",
        credentials=AwsCredentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        scope=Scope("20130524T000000Z", "us-east-1", "s3"),
        digest="44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
    )
    assert found.endswith("Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
