import CoherenceCore
import CoherenceMapping
import Foundation

/// A structure with a property of every storable type, with constants and optionals.
struct Everything: Sendable, Hashable, Codable {
  enum Color: String, Sendable, Codable, CaseIterable, AttributeConvertible { case red, green }
  struct Size: Sendable, Hashable, Codable {
    var width = 1
    var height = 2.5
  }

  let id: UUID
  var text: String
  let int: Int
  var int16: Int16
  var int32: Int32
  let int64: Int64
  var double: Double
  var float: Float
  var bool: Bool
  let date: Date
  var data: Data
  var url: URL
  var decimal: Decimal
  var color: Color
  var tags: [String]
  var optionalText: String?
  let optionalInt: Int?
  var optionalDate: Date?
  var optionalColor: Color?
  var size: Size?

  static let mapping = Mapping<Everything>("Everything", uid: \.id) {
    Field("id", \.id)
    Field("text", \.text, validation: [.maximumLength(1000)])
    Field("int", \.int)
    Field("int16", \.int16)
    Field("int32", \.int32)
    Field("int64", \.int64)
    Field("double", \.double)
    Field("float", \.float)
    Field("bool", \.bool)
    Field("date", \.date)
    Field("data", \.data)
    Field("url", \.url)
    Field("decimal", \.decimal)
    Field("color", \.color)
    Field("tags", json: \.tags)
    Field("optionalText", \.optionalText)
    Field("optionalInt", \.optionalInt)
    Field("optionalDate", \.optionalDate)
    Field("optionalColor", \.optionalColor)
    Field("size", json: \.size)
  }

  /// A value that differs in every property and lacks every second optional.
  static func sample(_ number: Int) -> Everything {
    Everything(
      id: UUID(), text: "text \(number), long enough to live on the heap", int: number, int16: Int16(number),
      int32: -Int32(number), int64: .max - Int64(number), double: Double(number) / 3, float: Float(number) / 3,
      bool: number % 2 == 0, date: Date(timeIntervalSince1970: Double(number)), data: Data([UInt8(number), 0, 255]),
      url: URL(string: "https://example.org/\(number)")!, decimal: Decimal(number) / 8,
      color: Color.allCases[number % 2], tags: (0..<number).map(String.init),
      optionalText: number % 2 == 0 ? nil : "some", optionalInt: number % 3 == 0 ? nil : number,
      optionalDate: number % 2 == 0 ? Date(timeIntervalSince1970: 0.5) : nil,
      optionalColor: number % 2 == 0 ? nil : .green, size: number % 3 == 0 ? nil : Size(width: number))
  }
}
