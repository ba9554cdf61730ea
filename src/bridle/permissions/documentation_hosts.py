"""Public documentation that may be read unasked: it learns which page was read, and nothing else."""

from urllib.parse import urlsplit

from bridle.permissions.word_lists import listed

_HOSTS = listed("""
    docs.python.org packaging.python.org peps.python.org docs.pytest.org docs.astral.sh docs.pydantic.dev
    docs.djangoproject.com flask.palletsprojects.com fastapi.tiangolo.com docs.sqlalchemy.org numpy.org
    pandas.pydata.org scikit-learn.org pytorch.org www.tensorflow.org
    developer.mozilla.org nodejs.org react.dev vuejs.org angular.dev svelte.dev nextjs.org vite.dev
    www.typescriptlang.org jestjs.io tailwindcss.com expressjs.com docs.deno.com bun.sh
    doc.rust-lang.org docs.rs rust-lang.github.io go.dev pkg.go.dev
    docs.oracle.com kotlinlang.org docs.spring.io docs.gradle.org maven.apache.org
    learn.microsoft.com en.cppreference.com cmake.org gcc.gnu.org clang.llvm.org www.gnu.org
    ruby-doc.org guides.rubyonrails.org www.php.net laravel.com hexdocs.pm www.swift.org docs.swift.org
    www.postgresql.org www.sqlite.org dev.mysql.com redis.io www.mongodb.com
    kubernetes.io docs.docker.com helm.sh developer.hashicorp.com docs.ansible.com prometheus.io
    git-scm.com docs.github.com docs.gitlab.com docs.aws.amazon.com cloud.google.com
    docs.anthropic.com platform.claude.com docs.claude.com modelcontextprotocol.io www.rfc-editor.org
""")
_LONGEST = 250
"""Characters of an address: a longer one could carry something out."""


def is_documentation(url: str) -> bool:
    """Whether an address is a page of well-known documentation, and holds nothing but its name."""
    if len(url) > _LONGEST or not url.isascii() or any(each in url for each in "?@%\\;="):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and parts.netloc.lower() in _HOSTS
    except ValueError:
        return False
