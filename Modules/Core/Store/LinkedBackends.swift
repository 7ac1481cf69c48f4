/// The store types of the linked modules, which programs use by name without registration.
///
/// Core imports no backend. It asks the Swift runtime whether any module of the process makes this type conform to
/// ``BackendProvider``.
package enum LinkedBackends {
  /// The provided types by name.
  static let storeTypes: [String: StoreType] = {
    let types = (LinkedBackends.self as Any.Type as? any BackendProvider.Type)?.providedTypes ?? []
    return Dictionary(types.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }()
}

/// A provider of store types. At most one module of a process makes ``LinkedBackends`` conform.
package protocol BackendProvider {
  /// Store types with their factories.
  static var providedTypes: [StoreType] { get }
}
