import CoherenceCore
import CoherenceStrategies
import Testing
import TestSupport

/// The framework's strategies, as values to test with.
enum StrategyKind: String, Sendable, CaseIterable, CustomTestStringConvertible {
  case direct = "Direct"
  case directIndependent = "DirectIndependent"
  case indirectNested = "IndirectNested"
  case mixed = "Mixed"

  func makeContainer(_ model: ManagedObjectModel, in directory: TemporaryDirectory) -> any PersistentContainer {
    switch self {
    case .direct: make(ContextStrategy.Direct.self, model, directory)
    case .directIndependent: make(ContextStrategy.DirectIndependent.self, model, directory)
    case .indirectNested: make(ContextStrategy.IndirectNested.self, model, directory)
    case .mixed: make(ContextStrategy.Mixed.self, model, directory)
    }
  }

  private func make<Strategy: ContextStrategyType>(
    _ strategy: Strategy.Type, _ model: ManagedObjectModel, _ directory: TemporaryDirectory
  ) -> any PersistentContainer {
    GenericPersistentContainer<Strategy>(
      name: "Outbox", managedObjectModel: model, storeLocation: directory.url)
  }

  var testDescription: String { rawValue }
}
