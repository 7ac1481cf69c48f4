public import CoherenceCore
public import Foundation

/// The access of the suite to a backend.
public protocol StoreHarness: Sendable {
  /// The backend's name, for messages.
  var name: String { get }
  /// A fresh, empty place for a store. Called several times by some cases; every place is destroyed at the end.
  func makeLocation() throws -> any StoreLocation
  /// A fresh, empty place for a store of another kind, for the cases about several stores. By default one of the same
  /// kind.
  func makeCompanionLocation() throws -> any StoreLocation
  /// The names of the cases that the store fails, each with the reason.
  var skips: [String: String] { get }
}

extension StoreHarness {
  public func makeCompanionLocation() throws -> any StoreLocation { try makeLocation() }
  public var skips: [String: String] { [:] }
}

/// A place where a store can be opened, closed, and opened again with what it held.
public protocol StoreLocation: AnyObject, Sendable {
  /// The type, with its factory.
  var type: StoreType { get }
  /// The argument for the parameter `at:` of `PersistentStoreCoordinator.addPersistentStore(type:…)`.
  var url: URL? { get }
  var options: [String: OptionValue] { get }
  /// Called before a store is opened here. A store that lives only as long as it is open keeps itself open with it.
  func willOpen(_ environment: StoreEnvironment) throws
  /// Removes the place with all that it holds. No store is open here then.
  func destroy() throws
}

extension StoreLocation {
  public var url: URL? { nil }
  public var options: [String: OptionValue] { [:] }
  public func willOpen(_ environment: StoreEnvironment) throws {}
}
