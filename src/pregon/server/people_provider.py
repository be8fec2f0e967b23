"""The identity provider of the administration pages, made from the settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pregon.errors import SettingsInvalid
from pregon.settings import Settings

if TYPE_CHECKING:
    from pregon.edges.admin.provider import Provider

_SECRET_BYTES_MAX = 4_096
_NEED_A_CLIENT = ("admin_oidc_secret", "admin_oidc_secret_file", "admin_oidc_issuer", "admin_oidc_title")


def make_provider(settings: Settings) -> Provider | None:
    """The provider that the settings name; None if they name none. Raises SettingsInvalid."""
    if not settings.admin_oidc_client:
        lost = [name for name in _NEED_A_CLIENT if getattr(settings, name)]
        if lost:
            raise SettingsInvalid(f"{', '.join(lost)} needs admin_oidc_client: who is this hub to the provider?")
        return None
    # Imported here: who uses no identity provider need not wait for it.
    from pregon.edges.admin.provider import Provider, ProviderOptions

    issuer = settings.admin_oidc_issuer or settings.oidc_issuer
    return Provider(
        ProviderOptions(
            issuer=issuer,
            client=settings.admin_oidc_client,
            secret=_read_secret(settings),
            keys=settings.oidc_keys if issuer == settings.oidc_issuer else "",
            scopes=settings.admin_oidc_scopes,
            name_claim=settings.admin_oidc_name_claim,
            role_claim=settings.admin_oidc_role_claim,
            title=settings.admin_oidc_title,
        )
    )


def _read_secret(settings: Settings) -> str:
    """The client's secret, without the white space around it; empty for a public client."""
    file = settings.admin_oidc_secret_file
    if not file:
        return settings.admin_oidc_secret.strip()
    if settings.admin_oidc_secret:
        raise SettingsInvalid("admin_oidc_secret and admin_oidc_secret_file are one too many: set one of them")
    try:
        with Path(file).open("rb") as opened:
            secret = opened.read(_SECRET_BYTES_MAX).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"admin_oidc_secret_file: {file} cannot be read: {error}") from error
    if not secret:
        raise SettingsInvalid(f"admin_oidc_secret_file: {file} is empty")
    return secret
