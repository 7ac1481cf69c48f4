import Coherence
import CoherenceMapping
import Foundation

/// The start of a program.
public final class AppCoordinator {
  public let persistenceManager = PersistenceManager(
    modelName: "MyModel", storeConfigurations: [StoreConfiguration(type: .inMemory)])

  public init() {}

  public func configure(completion: @escaping () -> Void) {
    // configure analytics, network, etc.

    // configure persistence
    persistenceManager.load { _ in
      completion()
    }
  }
}
