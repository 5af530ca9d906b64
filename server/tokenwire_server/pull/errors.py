"""Pull errors: every way in which bytes cannot be had, by name. One table, no second list."""

from __future__ import annotations

from types import MappingProxyType

REASONS = MappingProxyType(
    {
        "FILE_UNREADABLE": "a local file cannot be read, or is not a regular file",
        "STORE_UNWRITABLE": "the folder of artifacts cannot be written, or the disk is full",
        "STORE_BUSY": "another command works on this folder",
        "UNREACHABLE": "no connection: the name does not resolve, nothing answers, or TLS fails",
        "CONNECTION_LOST": "the transfer broke off; a further pull goes on from there",
        "HTTP_STATUS": "the server answered with an error",
        "NOT_FOUND": "the server has no such file, package or version",
        "INSECURE_URL": "the address is not https",
        "REDIRECT_SCHEME": "a redirect leads to another scheme",
        "REDIRECT_PRIVATE": "a redirect, or a registry, leads to an address of a private network",
        "TOO_MANY_REDIRECTS": "more redirects than are followed",
        "TOO_LARGE": "more bytes than the bound",
        "LONGER_THAN_PINNED": "more bytes than the lock, the registry or the server itself announced",
        "SHORTER_THAN_PINNED": "fewer bytes announced than the lock or the registry has",
        "TOO_SLOW": "slower than the least rate, or not done in time",
        "BAD_INDEX": "the answer of a registry cannot be read",
        "CHECKSUM_MISMATCH": "a package differs from the checksum of its registry",
        "SHA256_MISMATCH": "the artifact differs from its pin",
        "BAD_ARCHIVE": "a wheel or tarball is malformed or cut short",
        "ARCHIVE_BOMB": "an archive unpacks to more than the bound",
        "UNSAFE_MEMBER_NAME": "a member's name leads outside its archive",
        "MEMBER_IS_LINK": "the member is a link or a device, not a file",
        "MEMBER_NOT_FOUND": "the archive has no such member",
        "DUPLICATE_MEMBER": "the archive has the member twice",
        "MEMBER_TOO_LARGE": "the member is larger than the bound",
        "BAD_SETTING": "a setting of pip, npm or the Hugging Face client cannot be used",
    }
)
"""Each reason with its meaning."""


class PullError(Exception):
    """Something could not be pulled. `reason` is a key of `REASONS`; the message holds no credentials."""

    def __init__(self, reason: str, message: str) -> None:
        if reason not in REASONS:
            raise ValueError(f"{reason} is not a reason of the table")
        super().__init__(message)
        self.reason = reason
