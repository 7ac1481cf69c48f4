import CoherenceCore
import CoherenceMapping
import TestSupport
import Testing

/// Fields of numbers whose attributes have another width.
@Suite("Fields of another width than their attributes")
struct FieldWidthTests {
  private struct Gauge: Sendable, Hashable, Codable {
    var id: Int32
    var count: Int64
    var ratio: Float
    var mean: Double
  }

  private static let mapping = Mapping<Gauge>("Gauge", uid: \.id) {
    Field("id", \.id)
    Field("count", \.count)
    Field("ratio", \.ratio)
    Field("mean", \.mean)
  }

  private func stack(_ backend: Backend, count: AttributeType = .int16) throws -> MappingStack {
    let model = try ManagedObjectModel {
      Entity("Gauge") {
        Attribute("id", .int64)
        Attribute("count", count)
        Attribute("ratio", .double)
        Attribute("mean", .float)
      }
    }
    return try MappingStack(backend, model: model)
  }

  @Test(arguments: Backend.available)
  func `integers and floating-point numbers are saved and fetched through attributes of another width`(
    backend: Backend
  ) throws {
    let stack = try stack(backend)
    let manager = stack.manager
    let gauges = [Gauge(id: 1, count: 7, ratio: 0.5, mean: 0.25), Gauge(id: 2, count: -7, ratio: 1.5, mean: 2)]
    #expect(try manager.save(Self.mapping, models: gauges, shouldOverwrite: true).inserted == 2)
    #expect(try manager.save(Self.mapping, models: gauges, shouldOverwrite: true).unchanged == 2)
    #expect(try Set(manager.fetchModels(Self.mapping)) == Set(gauges))
  }

  @Test func `an integer is no field of an attribute with floating-point numbers`() throws {
    let stack = try stack(.inMemory, count: .double)
    #expect { try stack.manager.fetchModels(Self.mapping) } throws: { ErrorCode.modelDoesNotFit ~= $0 }
  }
}
