import ArgumentParser

/// The kinds of stores for which a size table can be made.
enum SizeStoreKind: String, CaseIterable, ExpressibleByArgument {
  case memory, sqlite, postgresql
}
