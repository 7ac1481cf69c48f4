extension StoreCore {
  /// Returns the equality of a type. Usable without the lock.
  func equality<T: Identifiable & Sendable>(of type: T.Type) -> (T, T) -> Bool {
    let (policy, traits) = exclusively { (table(of: type).policy, table(of: type).traits) }
    return policy.areEqual ?? traits.areEqual
  }
}
