"""Git: what a repository holds, commands that change it, work trees and merges."""
