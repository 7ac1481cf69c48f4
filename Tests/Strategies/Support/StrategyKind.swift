import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

/// The framework's strategies, as values to test with.
enum StrategyKind: String, Sendable, CaseIterable, CustomTestStringConvertible {
  case direct = "Direct"
  case directIndependent = "DirectIndependent"
  case indirectNested = "IndirectNested"
  case mixed = "Mixed"

  /// The strategies whose view follows the background contexts.
  static let following: [StrategyKind] = [.direct, .indirectNested, .mixed]

  func makeContainer(
    name: String = "Strategies", model: ManagedObjectModel = ContainerModels.users, in directory: TemporaryDirectory,
    errorBlock: AsyncErrorHandlerBlock? = nil
  ) -> any PersistentContainer {
    switch self {
    case .direct: make(ContextStrategy.Direct.self, name, model, directory, errorBlock)
    case .directIndependent: make(ContextStrategy.DirectIndependent.self, name, model, directory, errorBlock)
    case .indirectNested: make(ContextStrategy.IndirectNested.self, name, model, directory, errorBlock)
    case .mixed: make(ContextStrategy.Mixed.self, name, model, directory, errorBlock)
    }
  }

  private func make<Strategy: ContextStrategyType>(
    _ strategy: Strategy.Type, _ name: String, _ model: ManagedObjectModel, _ directory: TemporaryDirectory,
    _ errorBlock: AsyncErrorHandlerBlock?
  ) -> any PersistentContainer {
    GenericPersistentContainer<Strategy>(
      name: name, managedObjectModel: model, storeLocation: directory.url, asyncErrorBlock: errorBlock)
  }

  var testDescription: String { rawValue }
}
