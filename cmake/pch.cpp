// Carries the precompiled header pch.h; holds no code.
