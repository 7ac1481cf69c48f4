import ArgumentParser

/// The kinds of stores that the size table is made for.
enum SizeStoreKind: String, CaseIterable, ExpressibleByArgument {
  case memory, sqlite, postgresql
}
