import CoherenceCore
import Foundation
import Testing

/// Transformable attributes with registered transformers.
@Suite struct TransformerTests {
  struct Color: Equatable {
    var red: UInt8
    var green: UInt8
  }

  struct Refusal: Error {}

  struct ColorTransformer: AttributeTransformer {
    func data(from color: Color) throws -> Data {
      if color.red == 0 { throw Refusal() }
      return Data([color.red, color.green])
    }
    func value(from data: Data) throws -> Color {
      let bytes = Array(data)
      guard bytes.count == 2 else { throw Refusal() }
      return Color(red: bytes[0], green: bytes[1])
    }
  }

  final class Label: ManagedObject {
    static let colorKey = TransformableKey<Color>("color")
    static let bytesKey = AttributeKey<Data?>("color")
    static let strangeKey = TransformableKey<Color>("strange")
    var color: Color? {
      get { self[Self.colorKey] }
      set { self[Self.colorKey] = newValue }
    }
  }

  private let context: ManagedObjectContext

  init() throws {
    AttributeTransformers.register(ColorTransformer(), named: "TransformerTests.color")
    let model = try ManagedObjectModel {
      Entity("Label", class: Label.self) {
        Attribute("color", .transformable("TransformerTests.color"), optional: true)
        Attribute("strange", .transformable("TransformerTests.unknown"), optional: true)
        Attribute("name", .string, optional: true)
      }
    }
    context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
  }

  private func code(_ body: () throws -> Void) -> ErrorCode? {
    do {
      try body()
      return nil
    } catch {
      return (error as? CoherenceError)?.code
    }
  }

  @Test func `an accessor stores the data of the transformer and reads the value back`() throws {
    try context.performAndWait {
      let label = try Label(context: context)
      #expect(label.color == nil)
      label.color = Color(red: 1, green: 2)
      try context.save()
      context.refreshAll()
      #expect(label[Label.bytesKey] == Data([1, 2]))
      #expect(label.color == Color(red: 1, green: 2))
      #expect(try label.transformed(for: "color") == Color(red: 1, green: 2))
      label.color = nil
      #expect(label[Label.bytesKey] == nil)
      #expect(context.reportedErrors.isEmpty)
    }
  }

  @Test func `refused values and data are errors, which an accessor reports`() throws {
    try context.performAndWait {
      let label = try Label(context: context)
      #expect(code { try label.setTransformed(Color(red: 0, green: 1), for: "color") } == .wrongType)
      #expect(code { try label.setTransformed("red", for: "color") } == .wrongType)
      #expect(label[Label.bytesKey] == nil)
      label[Label.bytesKey] = Data([1])
      #expect(code { _ = try label.transformed(for: "color", as: Color.self) } == .wrongType)
      #expect(context.reportedErrors.isEmpty)
      #expect(label.color == nil)
      #expect(context.reportedErrors.count == 1)
    }
  }

  @Test func `an unregistered transformer is named in the error`() throws {
    try context.performAndWait {
      let label = try Label(context: context)
      #expect(code { try label.setTransformed(Color(red: 1, green: 1), for: "strange") } == .unknownTransformer)
      #expect(code { try label.setTransformed("x", for: "name") } == .wrongType)
      #expect(code { try label.setTransformed("x", for: "nothing") } == .unknownProperty)
      label[Label.strangeKey] = Color(red: 1, green: 1)
      let error = context.reportedErrors.first as? CoherenceError
      #expect(error?.message.contains("'TransformerTests.unknown'") == true)
    }
  }

  @Test func `a later transformer replaces an earlier one of the same name`() throws {
    struct Reversed: AttributeTransformer {
      func data(from value: String) -> Data { Data(value.utf8.reversed()) }
      func value(from data: Data) -> String { String(decoding: data.reversed(), as: UTF8.self) }
    }
    AttributeTransformers.register(ColorTransformer(), named: "TransformerTests.text")
    AttributeTransformers.register(Reversed(), named: "TransformerTests.text")
    #expect(AttributeTransformers.transformer(named: "TransformerTests.text") is Reversed)
    #expect(AttributeTransformers.transformer(named: "TransformerTests.none") == nil)
  }
}
